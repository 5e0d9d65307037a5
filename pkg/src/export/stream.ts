/** Texts as a stream of bytes. */

/** The characters of a chunk, about. */
const CHUNK = 256 * 1024;

/**
 * A stream of the bytes of texts, which are made when a reader asks for more. A cancelled stream ends them. `stored` hears how many
 * bytes a chunk has, before it is given.
 */
export function byteStream(texts: AsyncGenerator<string, void, undefined>, stored: (bytes: number) => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const some: string[] = [];
        let length = 0;
        while (length < CHUNK) {
          const next = await texts.next();
          if (next.done === true) break;
          some.push(next.value);
          length += next.value.length;
        }
        if (length === 0) {
          controller.close();
          return;
        }
        const bytes = encoder.encode(some.join(""));
        stored(bytes.length);
        controller.enqueue(bytes);
      },
      async cancel() {
        await texts.return();
      },
    },
    { highWaterMark: 0 },
  );
}
