/** Snippets in tabs, each with a button that copies it. */
import { Tabs } from "@mantine/core";
import { currentToken } from "@/api/token";
import { snippetsFor } from "./snippets";
import { CopyText } from "./states";

export function Snippets() {
  const snippets = snippetsFor(window.location.origin, currentToken());
  return (
    <Tabs defaultValue="0" keepMounted={false} w="100%">
      <Tabs.List>
        {snippets.map(({ name }, index) => (
          <Tabs.Tab key={name} value={String(index)}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ name, text }, index) => (
        <Tabs.Panel key={name} value={String(index)} pt="xs">
          <CopyText what={name}>{text}</CopyText>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
