/** A text with the words of a search marked, cut so that the first of them is in view. */
import { marks } from "./marking";
import { visible } from "./visible";

export function Marked({ text, search, most = 300 }: { text: string; search: string | undefined; most?: number }) {
  const { parts, cut } = marks(visible(text), search ?? "", most);
  return (
    <>
      {cut && "…"}
      {parts.map((part, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
        part.hit ? <mark key={index}>{part.text}</mark> : part.text,
      )}
    </>
  );
}
