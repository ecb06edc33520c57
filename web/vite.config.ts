import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The app is served by `evergold serve` from the package itself; in development the API is proxied to a running server.
export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../src/evergold/web_dist",
    emptyOutDir: true,
    chunkSizeWarningLimit: 1500,
    reportCompressedSize: false,
  },
  server: {
    port: 5173,
    proxy: { "/api": "http://127.0.0.1:8321", "/openapi.json": "http://127.0.0.1:8321" },
  },
});
