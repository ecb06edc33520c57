/** What people wrote on a trace, and a field to write more. A text that could not be sent stays in the field. */
import { Button, Textarea } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useMay } from "@/api/access";
import { api, unwrap } from "@/api/client";
import { reviewerName } from "@/api/reviewer";
import { age } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { useComments } from "./data";
import classes from "./traces.module.css";

export function Comments({ traceId }: { traceId: string }) {
  const client = useQueryClient();
  const comments = useComments(traceId);
  const mayWrite = useMay("reviewer");
  const [text, setText] = useState("");
  const renew = () => client.invalidateQueries({ queryKey: ["comments", traceId] });
  const write = useMutation({
    mutationFn: () =>
      unwrap(
        api.POST("/api/v1/traces/{trace_id}/comments", {
          params: { path: { trace_id: traceId } },
          headers: { "x-evergold-reviewer": reviewerName() },
          body: { text },
        }),
      ),
    onSuccess: () => {
      setText("");
      void renew();
    },
  });
  const remove = useMutation({
    mutationFn: (id: number) =>
      unwrap(api.DELETE("/api/v1/comments/{comment_id}", { params: { path: { comment_id: id } } })),
    onSuccess: renew,
  });
  if (comments.isPending) return <Loading what="comments" rows={2} />;
  if (comments.isError) return <Failed error={comments.error} retry={() => void comments.refetch()} />;
  return (
    <>
      <ol className={classes.comments}>
        {comments.data.map((comment) => (
          <li key={comment.id}>
            <p dir="auto">{comment.text}</p>
            <span className="eg-dim">
              {comment.who || "somebody"} · {age(comment.created_at)}
              {mayWrite && (
                <button type="button" className={classes.undo} onClick={() => remove.mutate(comment.id)}>
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
            write.mutate();
          }}
        >
          <Textarea
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
    </>
  );
}
