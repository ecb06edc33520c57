/**
 * A sentence of ours that holds a name in Hebrew, Arabic or another script written from right to left: what follows the name
 * stays behind it. Otherwise a number in brackets after an Arabic name is shown before it.
 */
import { visible } from "./visible";

const RIGHT_TO_LEFT =
  /((?:\p{Script=Hebrew}|\p{Script=Arabic}|\p{Script=Syriac}|\p{Script=Thaana}|\p{Script=Nko})[^\p{Script=Latin}()\d]*(?<![\s(,:;.]))/u;

export function Isolated({ text }: { text: string }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
  return piecesOf(visible(text)).map((piece, index) => (index % 2 ? <bdi key={index}>{piece}</bdi> : piece));
}

/** The text in pieces; each second one is written from right to left. */
export function piecesOf(text: string): string[] {
  return text.split(RIGHT_TO_LEFT);
}
