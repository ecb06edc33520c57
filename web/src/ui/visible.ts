/**
 * Characters that nobody sees but that change what is read: controls and marks that force a direction. They are shown as
 * such, so that a text cannot pass for another. Marks that Arabic, Hebrew and emoji need to be written are left alone.
 */

// C0 but tab, line feed and return; delete and C1; embeddings, overrides and isolates; what only breaks up words.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const UNSEEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069\u2060-\u2065\uFEFF]/g;
const NAMES: { [code: number]: string } = {
  8234: "LRE",
  8235: "RLE",
  8236: "PDF",
  8237: "LRO",
  8238: "RLO",
  8294: "LRI",
  8295: "RLI",
  8296: "FSI",
  8297: "PDI",
};

function shown(character: string): string {
  const code = character.charCodeAt(0);
  return `⟦${NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}⟧`;
}

export function visible(text: string): string {
  return text.replace(UNSEEN, shown);
}
