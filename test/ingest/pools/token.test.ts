import { describe, expect, test } from 'vitest'
import { cleanText } from '../../../ingest/pools/token.ts'

describe('text that a token says of itself', () => {
  test.each([
    ['plain text stays', 'USDC', 'USDC'],
    ['other scripts stay', '柴犬', '柴犬'],
    ['control characters go', 'US\u0000D\nC\u001b[31m', 'USDC[31m'],
    ['marks that turn the reading direction go', '\u202eCDSU\u202c', 'CDSU'],
    ['white space is folded and trimmed', '  A \t\u00a0 B  ', 'A B'],
    ['characters of no width go', '\ufeffA\u200b\u200c\u200d\u2060\u3164\ufe0fB', 'AB'],
    ['bytes that were no UTF-8 go', 'A\ufffd\ufffdB', 'AB'],
    ['half of a pair goes', 'A\ud83dB', 'AB'],
    ['long text is cut between code points', '🐕'.repeat(65), '🐕'.repeat(64)],
    ['no blank is left where text is cut', `${'x'.repeat(63)} y`, 'x'.repeat(63)],
    ['long text is cut at 64 characters', 'x'.repeat(10_000), 'x'.repeat(64)],
    ['nothing is nothing', '\u0000\u200b', undefined],
    ['a number is nothing', 5, undefined],
  ])('%s', (_, said, kept) => {
    expect(cleanText(said)).toBe(kept)
  })
})
