import { defineConfig } from 'vite'

/** Everything comes from the daemon itself, and nothing is inline: its content security policy allows nothing else. */
export default defineConfig({
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Warns on every machine that is busy.
    rolldownOptions: { checks: { bundlerTimings: false } },
  },
  logLevel: 'warn',
})
