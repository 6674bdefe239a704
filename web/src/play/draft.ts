// The text of this tab, kept over a reload.

export interface Draft {
  text: string;
  /** The text of the file that it began with. */
  mark: string;
}

const key = (name: string) => `attnlab-play:${name}`;

export function kept(name: string): Draft | null {
  try {
    const draft: unknown = JSON.parse(sessionStorage.getItem(key(name)) ?? "null");
    return isDraft(draft) ? draft : null;
  } catch {
    return null;
  }
}

export function keep(name: string, draft: Draft): void {
  try {
    sessionStorage.setItem(key(name), JSON.stringify(draft));
  } catch {
    // No room, or no leave: the text is in the editor still.
  }
}

function isDraft(value: unknown): value is Draft {
  const draft = value as Draft | null;
  return typeof draft?.text === "string" && typeof draft.mark === "string";
}
