/** A button that turns to another page. */

import { Icon, type IconName } from "./icon.tsx";

/** The button. It keeps the focus also where there is no such page. */
export function PageButton({
  icon,
  label,
  onClick,
  disabled,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled: boolean;
}) {
  return (
    <button
      type="button"
      class="button square"
      aria-label={label}
      title={label}
      aria-disabled={disabled}
      onClick={() => {
        if (!disabled) onClick();
      }}
    >
      <Icon name={icon} />
    </button>
  );
}
