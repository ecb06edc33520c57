/** The models of a board that have a place between cost and quality. One of unknown price or value would look free or worthless. */
import type { Board } from "./data";

export type Point = { name: string; value: [cost: number, mean: number] };

export function pointsOf(board: Board): Point[] {
  return board.entries.flatMap(({ model, usage: { cost }, means }) => {
    const value = means.find((each) => each.metric === board.metrics[0])?.value;
    return typeof cost === "number" && typeof value === "number" ? [{ name: model, value: [cost, value] }] : [];
  });
}
