import react from '@vitejs/plugin-react';
import { defaultClientConditions, defineConfig } from 'vite';
import { compression } from 'vite-plugin-compression2';

const gateway = 'http://localhost:4000';

export default defineConfig({
  // The gateway sends a compressed file if there is one beside the original.
  plugins: [react(), compression({ algorithms: ['gzip', 'brotliCompress'] })],
  // rxjs has smaller code for browsers of today than its default.
  resolve: { conditions: ['es2015', ...defaultClientConditions] },
  build: { target: 'es2024' },
  server: {
    // Without `changeOrigin`: the gateway compares the WebSocket's origin with the host that it is asked for.
    proxy: {
      '/graphql': { target: gateway, ws: true },
    },
  },
});
