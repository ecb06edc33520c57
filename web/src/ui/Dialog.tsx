/** A dialog that exists only while it is open. The focus goes back to where it was, as it does for one that stays mounted. */
import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useRef } from "react";

type DialogProps = Omit<ModalProps, "opened">;

export function Dialog(props: DialogProps) {
  useReturnedFocus();
  return <Modal opened closeOnClickOutside={false} {...props} />;
}

/** Gives the focus back on unmount: to what had it before, or where that is gone to the open record or the page. */
function useReturnedFocus() {
  const before = useRef(document.activeElement);
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement && document.activeElement !== document.body) return;
        const held = before.current;
        const back = held instanceof HTMLElement && held.isConnected && held !== document.body;
        const record = document.querySelector<HTMLElement>("article h2[tabindex]");
        (back ? held : (record ?? document.getElementById("main")))?.focus({ preventScroll: true });
      });
    },
    [],
  );
}
