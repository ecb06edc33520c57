/** A case edited here and changed in the file: last import, mine and theirs side by side, and one choice each. */
import { SegmentedControl, Text } from "@mantine/core";
import classes from "./dialogs.module.css";
import type { Choice, Clash, Field } from "./reimport";
import type { Content } from "./rows";

type ReimportChoicesProps = {
  clashes: Clash[];
  chosen: { [key: string]: Choice };
  onChoose: (chosen: { [key: string]: Choice }) => void;
};

const OPTIONS = [
  { value: "merge", label: "Merge (mine where both changed)" },
  { value: "mine", label: "Keep mine" },
  { value: "theirs", label: "Take the file's" },
];

export function ReimportChoices({ clashes, chosen, onChoose }: ReimportChoicesProps) {
  const value = (key: string) => (typeof chosen[key] === "string" ? chosen[key] : "merge");
  const choice = (option: string): Choice => (option === "mine" || option === "theirs" ? option : {});
  const all = (option: string) => onChoose(Object.fromEntries(clashes.map(({ key }) => [key, choice(option)])));
  return (
    <section aria-label="Edited cases that changed in the file">
      <Text size="sm" fw={600}>
        {clashes.length} edited or validated {clashes.length === 1 ? "case differs" : "cases differ"} in the file
      </Text>
      {clashes.length > 1 && (
        <SegmentedControl aria-label="For all" fullWidth size="xs" mt={6} data={OPTIONS} onChange={all} />
      )}
      {clashes.slice(0, 50).map((clash) => (
        <div key={clash.key} className={classes.clash}>
          <Text size="sm">{clash.key}</Text>
          <SegmentedControl
            aria-label={`Choice for ${clash.key}`}
            fullWidth
            size="xs"
            data={OPTIONS}
            value={value(clash.key) as string}
            onChange={(option) => onChoose({ ...chosen, [clash.key]: choice(option) })}
          />
          {clash.fields.map(({ field, changed }) => (
            <div key={field}>
              <Text size="xs" c="dimmed" mt={6}>
                {field}: changed {changed === "both" ? "on both sides" : changed === "mine" ? "here" : "in the file"}
              </Text>
              <div className={classes.sides}>
                <Side title="Last import" content={clash.state.imported} field={field} />
                <Side title="Mine" content={clash.state.content} field={field} />
                <Side title="The file" content={clash.theirs} field={field} />
              </div>
            </div>
          ))}
        </div>
      ))}
      {clashes.length > 50 && <Text size="xs">and {clashes.length - 50} more, decided by the choice for all</Text>}
    </section>
  );
}

function Side({ title, content, field }: { title: string; content: Content; field: Field }) {
  const value = content[field];
  return (
    <div>
      <Text size="xs" fw={600}>
        {title}
      </Text>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
      <pre tabIndex={0}>{typeof value === "string" ? value || "(empty)" : JSON.stringify(value, null, 1)}</pre>
    </div>
  );
}
