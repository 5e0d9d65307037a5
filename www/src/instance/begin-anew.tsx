/** Begins an instance anew that the browser has lost, once a person has confirmed it. */

import { openInstance, type Wanted } from "../state/session.ts";
import { Answers, Dialog } from "../ui/dialog.tsx";

/** The dialog. */
export function BeginAnew({ wanted, onClose }: { readonly wanted: Wanted; readonly onClose: () => void }) {
  return (
    <Dialog
      title={`Begin ${wanted.name} anew?`}
      onClose={onClose}
      onSubmit={() => void openInstance({ ...wanted, lost: "recreate" })}
      footer={
        <Answers onClose={onClose} danger>
          Begin anew
        </Answers>
      }
    >
      <p>An empty instance takes the place of the lost one. Its tables and rows do not come back. If there is a copy elsewhere, import it then.</p>
    </Dialog>
  );
}
