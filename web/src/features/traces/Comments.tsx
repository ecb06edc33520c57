/** What people wrote on a trace, and a field to write more. A text that could not be sent stays in the field. */
import { Button, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useMay, useMayChange } from "@/api/access";
import { api, type Schemas, unwrap } from "@/api/client";
import { When } from "@/ui/Age";
import { useKept, useRemoval } from "@/ui/forms";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import { useComments } from "./data";
import classes from "./traces.module.css";

type Comment = Schemas["TraceComment"];

export function Comments({ traceId }: { traceId: string }) {
  const client = useQueryClient();
  const comments = useComments(traceId);
  const mayWrite = useMay("reviewer");
  const mayChange = useMayChange();
  const [text, setText, forgetText] = useKept(`comment ${traceId}`, "");
  const { ref, removing } = useRemoval<HTMLDivElement>(comments.data?.length ?? 0, "li button", "textarea");
  const renew = () => client.invalidateQueries({ queryKey: ["comments", traceId] });
  const field = useRef<HTMLTextAreaElement>(null);
  const [deleted, setDeleted] = useState<string | null>(null);
  const write = useMutation({
    mutationFn: (text: string) =>
      unwrap(
        api.POST("/api/v1/traces/{trace_id}/comments", {
          params: { path: { trace_id: traceId } },
          body: { text },
        }),
      ),
    onSuccess: (_, sent) => {
      if (sent === text) {
        setText("");
        forgetText();
      }
      setDeleted(null);
      field.current?.focus(); // the button that had the focus cannot be pressed while the field is empty
      void renew();
    },
  });
  const remove = useMutation({
    mutationFn: ({ id }: Comment) =>
      unwrap(api.DELETE("/api/v1/comments/{comment_id}", { params: { path: { comment_id: id } } })),
    onSuccess: (_, gone) => {
      setDeleted(gone.text);
      void renew();
    },
  });
  if (comments.isPending) return <Loading what="comments" rows={2} />;
  if (comments.isLoadingError) return <Failed error={comments.error} retry={() => void comments.refetch()} />;
  return (
    <div ref={ref}>
      <ol className={classes.comments}>
        {comments.data.map((comment, at) => (
          <li key={comment.id}>
            <p dir="auto">{visible(comment.text)}</p>
            <span className="eg-dim">
              {comment.who || "somebody"} · <When at={comment.created_at} />
              {mayChange(comment.who) && (
                <button
                  type="button"
                  className={classes.undo}
                  aria-label={`Delete comment ${at + 1}`}
                  onClick={() => {
                    removing(at);
                    remove.mutate(comment);
                  }}
                >
                  Delete
                </button>
              )}
            </span>
          </li>
        ))}
      </ol>
      {comments.data.length === 0 && <p className={classes.note}>Nobody has written anything yet.</p>}
      {mayWrite && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            write.mutate(text);
          }}
        >
          <Textarea
            ref={field}
            mt="sm"
            label="Comment"
            autosize
            minRows={2}
            dir="auto"
            value={text}
            error={write.error?.message}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Button type="submit" mt="xs" variant="default" disabled={!text.trim()} loading={write.isPending}>
            Write
          </Button>
        </form>
      )}
      <output className={classes.outcome}>
        {remove.error?.message}
        {deleted !== null && (
          <>
            Deleted.{" "}
            <button type="button" className={classes.undo} onClick={() => write.mutate(deleted)}>
              Undo
            </button>
          </>
        )}
      </output>
    </div>
  );
}
