/** What a newcomer sees before the first trace: two ways to begin, each of which begins right here. */
import { Beginning } from "@/ui/Beginning";
import { Snippets } from "@/ui/Snippets";
import classes from "./overview.module.css";

export function Welcome() {
  return (
    <div className={classes.welcome}>
      <h2>Nothing has come in yet. Two ways to begin:</h2>
      <ol className={classes.ways}>
        <li>
          <h3>From a file of traces, or with sample data</h3>
          <Beginning of="traces" sample />
        </li>
        <li>
          <h3>From your app</h3>
          <p>Add this where the app starts. Its next answer shows up here by itself.</p>
          <Snippets />
        </li>
      </ol>
    </div>
  );
}
