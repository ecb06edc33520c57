export function Why({ traceId }: { traceId: string }) {
  return <div data-trace={traceId} />;
}
