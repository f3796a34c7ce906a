import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const gateway = 'http://localhost:4000';

export default defineConfig({
  plugins: [react()],
  build: { target: 'es2024' },
  server: {
    // Without `changeOrigin`: the gateway compares the WebSocket's origin with the host that it is asked for.
    proxy: {
      '/graphql': { target: gateway, ws: true },
    },
  },
});
