import { describe, expect, test } from 'vitest'
import { cleanText } from '../../ingest/token.ts'

describe('text that a token says of itself', () => {
  test.each([
    ['plain text stays', 'USDC', 'USDC'],
    ['other scripts stay', '柴犬', '柴犬'],
    ['control characters go', 'US\u0000D\nC\u001b[31m', 'USDC[31m'],
    ['marks that turn the reading direction go', '\u202eCDSU\u202c', 'CDSU'],
    ['white space is folded and trimmed', '  A \t\u00a0 B  ', 'A B'],
    ['it is cut at 64 characters', 'x'.repeat(10_000), 'x'.repeat(64)],
    ['nothing is nothing', '\u0000\u200b', undefined],
    ['what is no text is nothing', 5, undefined],
  ])('%s', (_, said, kept) => {
    expect(cleanText(said)).toBe(kept)
  })
})
