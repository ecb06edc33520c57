/** A new case, cases out of a file, and the listed cases as a file. */
import { Button, Group, Menu, Modal, Text, Textarea, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { Beginning } from "@/ui/Beginning";
import { Dialog, useKept } from "@/ui/forms";
import { useShortcuts } from "@/ui/shortcuts";
import { Download } from "@/ui/states";
import type { Case } from "./data";
import { createCase } from "./edits";
import { asQuery, type CaseView } from "./view";

export function CaseTools({ view }: { view: CaseView }) {
  const [open, setOpen] = useState<"new" | "import" | null>(null);
  const mayEdit = useMay("editor");
  const navigate = useNavigate();
  useShortcuts("Cases", mayEdit ? [{ keys: "N", does: "New case", run: () => setOpen("new") }] : []);
  const close = () => setOpen(null);
  return (
    <Group gap={8}>
      {mayEdit && (
        <>
          <Button size="compact-sm" variant="default" onClick={() => setOpen("new")}>
            New case…
          </Button>
          <Button size="compact-sm" variant="default" onClick={() => setOpen("import")}>
            Import…
          </Button>
        </>
      )}
      <ExportMenu view={view} />
      {open === "new" && (
        <NewCase
          dataset={view.dataset ?? "live"}
          onClose={close}
          onMade={({ dataset, id }) => {
            close();
            void navigate({ to: "/cases/$dataset/$caseId", params: { dataset, caseId: id }, search: view });
          }}
        />
      )}
      <Modal opened={open === "import"} onClose={close} title="Import cases">
        <Beginning of="cases" />
      </Modal>
    </Group>
  );
}

function ExportMenu({ view }: { view: CaseView }) {
  const formats = useQuery({
    queryKey: ["case-formats"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => unwrap(api.GET("/api/v1/cases/formats")),
  });
  return (
    <Menu shadow="md" position="bottom-end">
      <Menu.Target>
        <Button size="compact-sm" variant="default">
          Export…
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60dvh" style={{ overflowY: "auto" }}>
        {(formats.data ?? []).map((format) => (
          <Download key={format} href={exportAddress(view, format)} name={`${view.dataset ?? "cases"}-${format}`}>
            {(link) => (
              <Menu.Item component="a" download {...link}>
                {format}
              </Menu.Item>
            )}
          </Download>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** The address of the listed cases as a file: the same filters as the list. */
function exportAddress(view: CaseView, format: string): string {
  const query = new URLSearchParams({ format });
  for (const [name, value] of Object.entries(asQuery(view))) {
    for (const each of Array.isArray(value) ? value : [value]) if (each !== undefined) query.append(name, String(each));
  }
  return `/api/v1/cases/export?${query}`;
}

type NewCaseProps = { dataset: string; onClose: () => void; onMade: (made: Case) => void };

/** The form of a case that somebody writes by hand. */
function NewCase({ dataset: first, onClose, onMade }: NewCaseProps) {
  const [dataset, setDataset] = useState(first);
  const [input, setInput, forgetInput] = useKept("new case, question", "");
  const [expected, setExpected, forgetExpected] = useKept("new case, answer", "");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const client = useQueryClient();

  function leave() {
    forgetInput();
    forgetExpected();
    onClose();
  }

  async function save() {
    setBusy(true);
    try {
      const made = await createCase({
        dataset: dataset.trim(),
        input,
        expected,
        kind: "chat",
        tags: [],
        assertions: [],
      });
      void client.invalidateQueries();
      leave();
      onMade(made);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  }

  return (
    <Dialog onClose={leave} closeOnClickOutside={false} title="New case" size="lg">
      <Textarea
        label="Question"
        dir="auto"
        data-autofocus
        autosize
        minRows={2}
        maxRows={10}
        value={input}
        onChange={(event) => setInput(event.currentTarget.value)}
      />
      <Textarea
        mt="sm"
        label="Expected answer"
        dir="auto"
        autosize
        minRows={3}
        maxRows={14}
        value={expected}
        onChange={(event) => setExpected(event.currentTarget.value)}
      />
      <TextInput mt="sm" label="Dataset" value={dataset} onChange={(event) => setDataset(event.currentTarget.value)} />
      {problem && (
        <Text role="alert" size="sm" c="var(--eg-rust)" mt="sm">
          {problem}
        </Text>
      )}
      <Group justify="flex-end" mt="md">
        <Button variant="default" onClick={leave}>
          Cancel
        </Button>
        <Button
          disabled={!input.trim() || !expected.trim() || !dataset.trim()}
          loading={busy}
          onClick={() => void save()}
        >
          Make the case
        </Button>
      </Group>
    </Dialog>
  );
}
