/** The dialog behind `?`: every key that works on the page as it is now. */
import { Kbd, Modal } from "@mantine/core";
import classes from "./KeyHelp.module.css";
import { useShortcutGroups } from "./shortcuts";

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
