import type { State } from "../state";
import { Atlas } from "./atlas";
import { Chooser } from "./chooser";
import { Flow } from "./flow";
import { Editor, Findings, Source } from "./source";
import { Stage } from "./stage";
import { Explanation, Failure, More, Overview, Stepper } from "./told";
import { Top } from "./top";
import { WhyTopics } from "./why";
import { useWidth } from "./width";
import { WorkedOut } from "./work";

// From this width on, the words stand beside the pictures, in a column of their own.
const BOTH = 800;
const WORDS = 320;
const APART = 32;

export function Page({ state }: { state: State }) {
  const [room, box] = useWidth();
  const scene = state.scene.value;
  const told = state.told.value;
  const pictures = room >= BOTH ? room - WORDS - APART : room;
  return (
    <>
      <Top state={state} name={scene.program} summary={scene.summary.map((text) => state.text(text)).join(" · ")} />
      <div class="panes">
        <div class="left">
          {state.options.editor ? (
            <>
              <Editor element={state.options.editor} />
              <Findings state={state} />
            </>
          ) : (
            <Source state={state} />
          )}
        </div>
        <div class="right" ref={box}>
          <Failure state={state} />
          {told && room > 0 && (
            <>
              <Overview state={state} />
              <Flow state={state} room={room} />
              <div class="choices">
                <Stepper state={state} />
                <Chooser state={state} />
              </div>
              <Atlas state={state} />
              <div class={`hand${room >= BOTH ? " both" : ""}`} style={{ "--words": `${WORDS}px`, "--gap": `${APART}px` }}>
                <div class="shown">
                  <Stage state={state} room={pictures} />
                  <WorkedOut state={state} room={pictures} />
                </div>
                <Explanation state={state} />
              </div>
            </>
          )}
          <WhyTopics state={state} />
          <More state={state} />
        </div>
      </div>
    </>
  );
}
