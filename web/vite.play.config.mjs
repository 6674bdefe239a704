import page from "./vite.config.mjs";

// The playground's own script: the editor, and what speaks with the server. The page itself is the page's script.
export default {
  ...page,
  build: {
    ...page.build,
    lib: { ...page.build.lib, entry: "src/play.tsx", name: "attnlabPlay", fileName: () => "play.js", cssFileName: "play" },
  },
};
