/** The name a reviewer gave in this browser. */
const NAME = "evergold.reviewer";

/** Where nobody has a token, a reviewer says who they are; the server notes it with every decision. */
export function reviewerName(): string {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export function saveReviewerName(name: string): void {
  try {
    localStorage.setItem(NAME, name.trim());
  } catch {
    // forbidden storage: the name lasts as long as the page does not need it again
  }
}
