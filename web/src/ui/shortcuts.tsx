/**
 * Keyboard shortcuts and the list that `?` shows.
 *
 * A component registers its keys while it is mounted; the help dialog lists what is registered right now, so the list is always true.
 * Keys are single ("j", "/", "Enter") or a sequence of two typed one after the other ("g t").
 */
import { Kbd, Modal } from "@mantine/core";
import { useLayoutEffect, useRef, useSyncExternalStore } from "react";
import classes from "./KeyHelp.module.css";

type Shortcut = { keys: string; does: string; run: () => void };
type ShortcutGroup = { title: string; shortcuts: readonly Shortcut[] };

const SEQUENCE_MS = 900;

let groups: readonly ShortcutGroup[] = [];
let pending = "";
let pendingSince = 0;
const listeners = new Set<() => void>();

/** Single keys that also begin a sequence: one typed for the sequence would act at once. There must be none. */
export function clashing(keys: readonly string[]): string[] {
  return keys.filter((key) => !key.includes(" ") && keys.some((other) => other.startsWith(`${key} `)));
}

function replace(next: readonly ShortcutGroup[]): void {
  groups = next;
  const clashes = clashing(groups.flatMap((group) => group.shortcuts.map(({ keys }) => keys)));
  if (clashes.length > 0) console.error(`Keys that also begin a sequence, and do nothing else: ${clashes.join(" ")}`);
  for (const listener of listeners) listener();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Whether a key belongs to what has the focus: Enter and the space bar to a button or link, every key to an open menu. */
function isTaken(event: KeyboardEvent): boolean {
  if (!(event.target instanceof HTMLElement)) return false;
  if (event.target.closest("[role=menu], [role=listbox]")) return true;
  const pressed = event.key === "Enter" || event.key === " ";
  return pressed && event.target.closest("button, a[href], summary, [role=tab], [role=button]") !== null;
}

function find(keys: string): Shortcut | undefined {
  for (const group of [...groups].reverse()) {
    const match = group.shortcuts.find((shortcut) => shortcut.keys === keys);
    if (match) return match;
  }
  return undefined;
}

let holds = 0;
let waiting: { key: string; timeStamp: number }[] = [];

/**
 * Keeps the keys that are pressed from now on until the answer is called; then they act in their order, each on what the one
 * before it led to. `drop` forgets them: what they were meant for did not come.
 */
export function holdKeys(): (drop?: boolean) => void {
  let held = true;
  holds += 1;
  return (drop = false) => {
    if (!held) return;
    held = false;
    holds -= 1;
    if (drop) waiting = [];
    // What the answer brought is drawn first: it may hold keys itself.
    setTimeout(playNext);
  };
}

function playNext(): void {
  if (holds > 0) return;
  const next = waiting.shift();
  if (next === undefined) return;
  act(next.key, next.timeStamp);
  setTimeout(playNext);
}

/** Stands where something loads on which keys are to act. */
export function HeldKeys() {
  useLayoutEffect(() => {
    const release = holdKeys();
    return () => release();
  }, []);
  return null;
}

/** Keys that act again while they are held down. A verdict does not: a finger that stays on its key means one case. */
const REPEATING = ["j", "k"];

function onKeyDown(event: KeyboardEvent): void {
  if (event.repeat && !REPEATING.includes(event.key)) return;
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isTaken(event)) return;
  const modal = document.querySelector("[role=dialog]");
  if (modal) return;
  if (holds > 0 || waiting.length > 0) waiting.push({ key: event.key, timeStamp: event.timeStamp });
  else if (!act(event.key, event.timeStamp)) return;
  event.preventDefault();
}

const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"];

/**
 * Runs what a key stands for, alone or after the one before it; says whether it stands for anything. A key that begins a sequence
 * does nothing else, and neither does the key after it.
 */
function act(key: string, timeStamp: number): boolean {
  if (MODIFIERS.includes(key)) return false;
  const sequence = pending && timeStamp - pendingSince < SEQUENCE_MS ? `${pending} ${key}` : "";
  const begins = groups.some((group) => group.shortcuts.some((shortcut) => shortcut.keys.startsWith(`${key} `)));
  const match = sequence ? find(sequence) : begins ? undefined : find(key);
  pending = begins && !match ? key : "";
  pendingSince = timeStamp;
  match?.run();
  return match !== undefined;
}

// Tests of what imports this have no window.
globalThis.addEventListener?.("keydown", onKeyDown);

/** Registers keys while the component is mounted. `shortcuts` may change on every render. */
export function useShortcuts(title: string, shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  const shape = shortcuts.map((shortcut) => `${shortcut.keys}\t${shortcut.does}`).join("\n");
  // Not after the paint: a key that can be seen works.
  useLayoutEffect(() => {
    const group: ShortcutGroup = {
      title,
      shortcuts: shape
        .split("\n")
        .filter(Boolean)
        .map((line, index) => {
          const [keys = "", does = ""] = line.split("\t");
          return { keys, does, run: () => latest.current[index]?.run() };
        }),
    };
    replace([...groups, group]);
    return () => replace(groups.filter((other) => other !== group));
  }, [title, shape]);
}

/** The key of a button, shown on it. */
export const keyed = (key: string) => ({
  "aria-keyshortcuts": key,
  classNames: { section: classes.key },
  rightSection: (
    <Kbd size="xs" aria-hidden="true">
      {key}
    </Kbd>
  ),
});

function useShortcutGroups(): readonly ShortcutGroup[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => groups,
  );
}

/** The dialog behind `?`: every key that works on the page as it is now. */
export function KeyHelp({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const groups = useShortcutGroups();
  return (
    <Modal opened={opened} onClose={onClose} title="Keys" size="md" centered>
      {[...groups].reverse().map((group) => (
        <section key={group.title} className={classes.group}>
          <h3 className={classes.title}>{group.title}</h3>
          <dl className={classes.list}>
            {group.shortcuts.map((shortcut) => (
              <div key={shortcut.keys} className={classes.row}>
                <dt>{shortcut.does}</dt>
                <dd>
                  {shortcut.keys.split(" ").map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Modal>
  );
}
