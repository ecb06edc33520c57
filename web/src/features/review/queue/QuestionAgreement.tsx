/** How far reviewers agree on each question of their datasets. */
import { Table } from "@mantine/core";
import type { Schemas } from "@/api/client";
import { Panel } from "@/ui/Page";
import { FigureText } from "./FigureText";

export function QuestionAgreement({ rows }: { rows: readonly Schemas["QuestionAgreement"][] }) {
  if (rows.length === 0) return null;
  return (
    <Panel title="Questions">
      <Table.ScrollContainer minWidth={560} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Question</Table.Th>
              <Table.Th>Dataset</Table.Th>
              <Table.Th>Answers</Table.Th>
              <Table.Th>Equal</Table.Th>
              <Table.Th>Beyond chance</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Table.Tr key={`${row.dataset} ${row.question}`}>
                <Table.Td>{row.title}</Table.Td>
                <Table.Td>{row.dataset}</Table.Td>
                <Table.Td>{row.answers}</Table.Td>
                <Table.Td>
                  <FigureText figure={row.agreement} />
                </Table.Td>
                <Table.Td>
                  <FigureText figure={row.beyond_chance} /> {row.beyond_chance.value !== null && `(${row.measure})`}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  );
}
