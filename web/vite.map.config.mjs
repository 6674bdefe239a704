import page from "./vite.config.mjs";

// The page of a map, with a script and a style sheet of its own.
export default {
  ...page,
  build: {
    ...page.build,
    lib: { ...page.build.lib, entry: "src/map.tsx", name: "attnlabMap", fileName: () => "map.js", cssFileName: "map" },
  },
};
