/** Names under which the answers to questions are stored. */
import type { Question } from "../queue/data";

/** The questions with a name for each: questions in scripts without Latin letters are numbered. */
export function named(questions: readonly Question[]): Question[] {
  const taken = new Set(questions.map(({ name }) => name));
  return questions.map((question) => {
    if (question.name) return question;
    const wanted = nameFrom(question.title);
    let name = wanted;
    for (let number = 2; taken.has(name); number += 1) name = `${wanted.slice(0, 46)}_${number}`;
    taken.add(name);
    return { ...question, name };
  });
}

/** A name for answers out of the question itself: letters, digits and underscores, at most fifty. */
function nameFrom(title: string): string {
  const plain = title
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^[^a-z]+|_+$/g, "")
    .slice(0, 50);
  return plain || "question";
}
