/** Snippets in tabs, each with a button that copies it. */
import { Tabs } from "@mantine/core";
import { currentToken } from "@/api/token";
import { snippetsFor } from "./snippets";
import { CopyText } from "./states";

export function Snippets() {
  const snippets = snippetsFor(window.location.origin, currentToken());
  return (
    <Tabs defaultValue={snippets[0]?.name ?? ""} keepMounted={false} w="100%">
      <Tabs.List>
        {snippets.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ name, text }) => (
        <Tabs.Panel key={name} value={name} pt="xs">
          <CopyText what={name}>{text}</CopyText>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
