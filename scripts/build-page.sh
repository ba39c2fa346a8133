#!/usr/bin/env bash
# Build what `recall report` puts into its pages, from page/ into the package. Needs Node 20 or later.
set -euo pipefail
cd "$(dirname "$0")/../page"
npm ci --ignore-scripts
npx tsc
node build.mjs
ls -l ../src/pytest_recall/results/report_page/assets
