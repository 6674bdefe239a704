import { useEffect, useState } from "preact/hooks";
import type { Both, Role, Scene, Why } from "../scene";
import type { State } from "../state";
import { Aligned } from "./aligned";

/** Which tensor a topic is about: it stands out at the step that makes it. */
const ABOUT: Record<string, Role> = {
  qkv: "q",
  transpose: "kt",
  scores: "scores",
  scale: "scaled",
  softmax: "weights",
  output: "output",
};

/** What one may ask of the code, one click away: the answers are experiments. */
export function WhyTopics({ state }: { state: State }) {
  const [open, setOpen] = useState<{ topic: string; scene: Scene } | null>(null);
  const scene = state.scene.value;
  const topics = scene.why;
  if (topics.length === 0) return null;
  // What was asked of other code is no answer for this: it is asked again when one wants it.
  const opened = topics.find((why) => why.topic === open?.topic && (why.text !== null || open.scene === scene));
  const near = ({ topic }: Why) => {
    const role = ABOUT[topic];
    return role !== undefined && state.part.value?.makes.includes(role);
  };
  return (
    <section class="why" aria-label={state.say("page.why.title")}>
      <h2>{state.say("page.why.title")}</h2>
      <div class="topics">
        {topics.map((why) => (
          <button
            type="button"
            class={near(why) ? "near" : ""}
            aria-expanded={why === opened}
            onClick={() => setOpen(why === opened ? null : { topic: why.topic, scene })}
          >
            {state.text(why.title)}
          </button>
        ))}
      </div>
      {opened && <Answer key={opened.topic} state={state} why={opened} />}
    </section>
  );
}

function Answer({ state, why }: { state: State; why: Why }) {
  const [asked, setAsked] = useState<Both | "failed" | null>(null);
  const ask = state.options.why;
  useEffect(() => {
    let left = false;
    if (!why.text && ask) {
      ask(why.topic).then(
        (text) => !left && setAsked(text),
        () => !left && setAsked("failed"),
      );
    }
    return () => void (left = true);
  }, [why]);
  const text = why.text ?? asked;
  if (text === null) return <p class="quiet">{state.say(ask ? "page.why.waiting" : "page.why.absent")}</p>;
  if (text === "failed") return <p class="quiet">{state.say("page.why.failed")}</p>;
  return (
    <pre class="answer" tabIndex={0}>
      <Aligned text={state.text(text)} />
    </pre>
  );
}
