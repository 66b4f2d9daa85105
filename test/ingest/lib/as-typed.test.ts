import { expect, test } from 'vitest'
import { asInstalled, asTyped } from '../../../ingest/lib/as-typed.ts'

test('commands of texts are typed by npx where the package is installed, and as they are in the repository', () => {
  const text = 'Run `npm start` first, then npm run -s status [-- --json], `npm run keys -- list` or npm run migrate.'
  expect(asTyped(text)).toBe(text)
  expect(asInstalled(text)).toBe(
    'Run `npx candlepool start` first, then npx candlepool status [--json], `npx candlepool keys list` or npx candlepool migrate.',
  )
})
