#!/bin/sh
# Runs what `npm run` runs, with the variables of the gateways, without building, as root: gateway purge --all
set -eu
settings=/etc/market-intelligence-gateway
# As systemd reads it: a value may have blanks, and quotes around it, and nothing of it is executed. The last line may lack its end.
while read -r line || [ -n "$line" ]; do
  case $line in
    [A-Za-z_]*=*)
      value=${line#*=}
      case $value in
        \"*\" | \'*\') value=${value#?} && value=${value%?} ;;
      esac
      export "${line%%=*}=$value"
      ;;
  esac
done < "$settings/environment"
cd /opt/market-intelligence-gateway/current
script=$(node -p 'require("./package.json").scripts[process.argv[1]] ?? ""' "$1")
[ -n "$script" ] || { echo "gateway: package.json has no script $1" >&2; exit 1; }
shift
export NODE_ENV=production SESSION_SECRET_FILE="$settings/SESSION_SECRET" REDIS_URL_FILE="$settings/REDIS_URL" ADMIN_TOKEN_FILE="$settings/ADMIN_TOKEN"
exec sh -c "${script##*&& } \"\$@\"" sh "$@"
