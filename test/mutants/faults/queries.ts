/** From the text of a request to a typed query. */
import { faultsIn } from '../plant.ts'

export const QUERIES = [
  ...faultsIn(
    'api/query/time.ts',
    ['test/api/query/time.test.ts'],
    [
      [
        '30 February is a day of March',
        'if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined',
        '',
      ],
      ['a zone west of Greenwich is one east of it', "sign === '-' ? -1 : 1", "sign === '-' ? 1 : 1"],
      ['a fraction of a second is rounded down', 'instant.seconds + 1', 'instant.seconds'],
      ['a leap second is any second', "if (second === '60' && seconds % 86_400 !== 0) return undefined", ''],
    ],
  ),
  ...faultsIn(
    'api/query/interval.ts',
    ['test/api/query/interval.test.ts'],
    [
      [
        'an interval longer than a day is taken',
        'return seconds <= MAX_INTERVAL ? seconds : undefined',
        'return seconds',
      ],
      ['an hour has 60 seconds', 'h: 3_600', 'h: 60'],
    ],
  ),
  ...faultsIn(
    'api/query/include.ts',
    ['test/api/query/include.test.ts'],
    [['an unknown addition is taken', 'return known.length === asked.length ? known : undefined', 'return known']],
  ),
  ...faultsIn(
    'api/query/parameters.ts',
    ['test/api/query/parameters.test.ts'],
    [
      [
        'a parameter that is given twice is taken',
        'else if (given.has(name) || texts.length > 1)',
        'else if (given.has(name))',
      ],
      ['an empty parameter is taken', "else if (text.trim() === '')", "else if (text === ' ')"],
      ['a parameter of any length is taken', 'text.length > MAX_TEXT_LENGTH', 'text.length > MAX_TEXT_LENGTH * 1e6'],
    ],
  ),
]
