# TRACES=false leaves out what only traces need (OTEL_…).
FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
ARG TRACES=true
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY schema ./schema
COPY src ./src
# Without what is not installed in the manifest: `npm sbom --omit=dev` leaves out what development needs, too, such as graphql.
RUN npm run build \
  && npm pkg delete devDependencies $([ "$TRACES" = true ] || echo optionalDependencies) \
  && npm prune \
  && npm sbom --sbom-format=cyclonedx | sed '/"\(serialNumber\|timestamp\)"/d' > sbom.json \
  && find node_modules -type f \( -name '*.map' -o -name '*.md' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete
# The image runs what `npm start` runs, with the same flags, as the process that gets the signals: the script begins with exec.
RUN node -p '"#!/bin/sh\n" + require("./package.json").scripts.start' > start && chmod +x start

# Without npm, and all else that only building needs. The binary of Node needs libatomic1.
FROM debian:bookworm-slim@sha256:96e378d7e6531ac9a15ad505478fcc2e69f371b10f5cdf87857c4b8188404716
ARG REVISION
LABEL org.opencontainers.image.title="market-intelligence-gateway" \
  org.opencontainers.image.description="One GraphQL schema over a market research and event-intelligence REST service" \
  org.opencontainers.image.version="2.0.0" \
  org.opencontainers.image.revision="$REVISION"
RUN apt-get update && apt-get install -y --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/bin/node /usr/local/bin/node
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4000 ADMIN_PORT=9090
WORKDIR /app
COPY --from=build /app/package.json /app/start /app/sbom.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/schema ./schema
COPY operations ./operations
COPY --from=build /app/dist ./dist
# All that is ever written, and only where there is no Redis; the rest of the file system may be read-only.
RUN install -d -o 1000 -g 1000 data
VOLUME /app/data
# The user node by its number: Kubernetes takes no name's word for not being root.
USER 1000:1000
EXPOSE 4000 9090
# The port for clients answers where ADMIN_PORT is empty, or 0, which is any free port. Seldom, since it is a process of Node's: whoever sends traffic asks /readyz itself.
HEALTHCHECK --interval=30s --timeout=3s \
  CMD ["node", "-e", "const { HOST: host = '127.0.0.1', PORT, ADMIN_PORT } = process.env; http.get({ host, port: Number(ADMIN_PORT) || PORT, path: '/healthz', agent: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
CMD ["./start"]
