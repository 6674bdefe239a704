import type { MapState } from "./state";

/** What there is to tell of the heads, and some of those that it is told of. */
export function Story({ state }: { state: MapState }) {
  const { story, layers } = state.scene;
  if (story.length === 0) return null;
  return (
    <section class="story" aria-label={state.say("map.page.story.title")}>
      {story.map(({ says, heads }) => (
        <div class="told">
          <p>{state.text(says)}</p>
          {heads.length > 0 && (
            <p class="examples">
              {heads.slice(0, EXAMPLES).map(([layer, head]) => (
                <button
                  type="button"
                  aria-pressed={state.layerAt.value === layer && state.headAt.value === head}
                  onClick={() => state.choose(layer, head)}
                >
                  {layers[layer]?.index}.{layers[layer]?.heads[head]}
                </button>
              ))}
              {heads.length > EXAMPLES && <span>…</span>}
            </p>
          )}
        </div>
      ))}
    </section>
  );
}

const EXAMPLES = 8;
