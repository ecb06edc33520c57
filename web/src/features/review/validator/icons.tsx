/** The one icon only this page needs, and the ones it shares. */
export { CrossIcon } from "@/ui/icons";

export function GripIcon({ size = 16 }: { size?: number }) {
  const dots = [5, 10, 15].flatMap((y) => [7, 13].map((x) => ({ x, y })));
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="currentColor" aria-hidden="true">
      {dots.map(({ x, y }) => (
        <circle key={`${x} ${y}`} cx={x} cy={y} r="1.4" />
      ))}
    </svg>
  );
}
