/** What is looked at of a dataset, as it stands in the address bar. */
import { oneOf, text, withoutBlanks } from "@/ui/address";

export const LOOKS = ["versions", "compare", "sample"] as const;
export type Look = (typeof LOOKS)[number];

export type DatasetView = {
  look?: Look;
  version?: string;
  before?: string;
  seed?: number;
  split?: string;
  case?: string;
};

export function readDatasetView(search: Record<string, unknown>): DatasetView {
  const seed = Number(search.seed);
  return withoutBlanks({
    look: oneOf(LOOKS, search.look),
    version: text(search.version),
    before: text(search.before),
    seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : undefined,
    split: text(search.split),
    case: text(search.case),
  });
}
