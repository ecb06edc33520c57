/** What fills an empty page: a file dropped here, or sample data by a button. */
import { Button, FileButton, Group } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useMay } from "@/api/access";
import { api, type Schemas, unwrap } from "@/api/client";
import { reviewerName } from "@/api/reviewer";
import { plural } from "./format";
import classes from "./states.module.css";

type BeginningProps = { of: Schemas["UploadOf"]; sample?: boolean; children?: ReactNode };

export function Beginning({ of, sample = false, children }: BeginningProps) {
  const client = useQueryClient();
  const may = useMay("editor");
  const [over, setOver] = useState(false);
  const done = { onSettled: () => client.invalidateQueries() };
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const body = { name: file.name, of, text: await file.text(), dataset: "" };
      return unwrap(api.POST("/api/v1/uploads", { headers: { "x-evergold-reviewer": reviewerName() }, body }));
    },
    ...done,
  });
  const samples = useMutation({ mutationFn: () => unwrap(api.POST("/api/v1/samples")), ...done });
  const failed = upload.error ?? samples.error;
  const taken = upload.data;
  if (!may) return children;
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button is the first */}
      <div
        className={classes.drop}
        data-over={over || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const file = event.dataTransfer.files[0];
          if (file) upload.mutate(file);
        }}
      >
        <p>Drop a file of {of} here: JSON lines, OTLP JSON, YAML, or an export of Langfuse, Phoenix or LangSmith.</p>
        <Group gap={8}>
          <FileButton onChange={(file) => file && upload.mutate(file)}>
            {(props) => (
              <Button {...props} loading={upload.isPending}>
                Choose a file
              </Button>
            )}
          </FileButton>
          {sample && (
            <Button variant="default" loading={samples.isPending} onClick={() => samples.mutate()}>
              Use sample data
            </Button>
          )}
        </Group>
        <output>
          {failed?.message}
          {taken && `${plural(taken.stored, "record")} stored, ${taken.rejected} not. ${taken.problems[0] ?? ""}`}
        </output>
      </div>
      {children}
    </>
  );
}
