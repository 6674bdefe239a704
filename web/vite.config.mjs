import { defineConfig } from "vite";

// One script and one style sheet, the same bytes at every build: they are committed, and written into reports.
export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none", charset: "utf8" },
  build: {
    target: "es2022",
    outDir: "../src/attnlab/web/assets",
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: false,
    sourcemap: false,
    reportCompressedSize: false,
    lib: { entry: "src/main.tsx", name: "attnlabPage", formats: ["iife"], fileName: () => "page.js", cssFileName: "page" },
  },
});
