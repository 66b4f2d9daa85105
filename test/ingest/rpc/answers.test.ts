/** Ill-formed fields of answers: each is the endpoint's fault by name, and nothing of them is stored. */
import { encodeErrorResult, numberToHex, parseAbi } from 'viem'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkAnswer } from '../../../ingest/rpc/answers.ts'
import { BadAnswer } from '../../../ingest/rpc/rpc-error.ts'
import { DAY, madeUpHash, recordedDay } from '../../support/recorded.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { drawn } from '../../support/sample.ts'
import { until } from '../../support/until.ts'
import { cleanContent, contentOf, hostOf, type Listening, listenTo, startNode } from '../over-nodes.ts'

const OFFCHAIN_LOOKUP = encodeErrorResult({
  abi: parseAbi(['error OffchainLookup(address sender, string[] urls, bytes data, bytes4 callback, bytes extra)']),
  args: ['0xcA11bde05977b3631167028862bE2a173976CA11', ['http://127.0.0.1:1/{data}'], '0x', '0x12345678', '0x'],
})

type Fields = Record<string, unknown>

const MISSING = Symbol('missing')
/** Values that no field has. */
const BAD: readonly (readonly [name: string, value: unknown])[] = [
  ['null', null],
  ['a number', 7],
  ['an object', { toString: 1, valueOf: 1 }],
  ['a list', [['0x1']]],
  ['an empty text', ''],
  ['0x', '0x'],
  ['0xzz', '0xzz'],
  ['digits without 0x', '12'],
  ['too long a text', `0x${'ab'.repeat(1_000)}`],
  ['a negative number', '-0x1'],
  ['a huge number', `0x${'f'.repeat(64)}`],
  ['nothing', MISSING],
]
const with_ = (fields: object, field: string, value: unknown): Fields => {
  const { [field]: _, ...others } = fields as Fields
  return value === MISSING ? others : { ...others, [field]: value }
}

const [log] = recordedDay()
if (!log) throw new Error('The day has logs.')
const header = {
  number: '0x10',
  hash: madeUpHash(16),
  parentHash: madeUpHash(15),
  timestamp: '0x64',
  logsBloom: `0x${'0'.repeat(512)}`,
}

const LOG_FIELDS = ['address', 'topics', 'topic', 'data', 'blockNumber', 'blockHash', 'transactionHash', 'logIndex']
const HEADER_FIELDS = ['number', 'hash', 'parentHash', 'timestamp', 'logsBloom']

/** Well-formed, though no lie is: bytes that are none, a word of 32 bytes, no bloom. */
function isFormed(field: string, value: unknown): boolean {
  if (field === 'data') return ['0x', BAD[8]?.[1], BAD[10]?.[1]].includes(value)
  if (field === 'topic') return value === BAD[10]?.[1]
  if (field === 'blockHash' || field === 'transactionHash') return value === BAD[10]?.[1]
  if (field === 'hash' || field === 'parentHash') return value === BAD[10]?.[1]
  return field === 'logsBloom' && [null, '0x', MISSING].includes(value as never)
}

const twisted = (it: Fields, field: string, value: unknown): Fields =>
  field === 'topic' ? { ...it, topics: [value === MISSING ? undefined : value] } : with_(it, field, value)

const CASES = [...LOG_FIELDS.map((it) => ['log', it]), ...HEADER_FIELDS.map((it) => ['header', it])].flatMap(
  ([of = '', field = '']) =>
    BAD.flatMap(([name, value]) => (isFormed(field, value) ? [] : [{ of, field, name, value }])),
)

describe('an ill-formed field is told by name, and not quoted', () => {
  test.each(CASES)('$of: $field is $name', ({ of, field, value }) => {
    const answer = of === 'log' ? [{ ...log }, twisted({ ...log }, field, value)] : twisted(header, field, value)
    const method = of === 'log' ? 'eth_getLogs' : 'eth_getBlockByNumber'
    if (field === 'hash' && value === null) return expect(checkAnswer(method, answer)).toBeUndefined()
    expect(() => checkAnswer(method, answer)).toThrow(BadAnswer)
    expect(() => checkAnswer(method, answer)).toThrow(
      /^The node answered (null|nothing|an? [\w ]+) as (the|a) [\w ]+\.$/,
    )
    if (of === 'log') {
      const receipt = { blockHash: log.blockHash, logs: answer }
      expect(() => checkAnswer('eth_getBlockReceipts', [null, receipt])).toThrow(BadAnswer)
      expect(() => checkAnswer('eth_getTransactionReceipt', receipt)).toThrow(BadAnswer)
    }
  })

  test.each(BAD.filter(([name]) => !['nothing', 'null'].includes(name)))('a whole answer is %s', (_, value) => {
    for (const method of ['eth_getLogs', 'eth_getBlockReceipts', 'eth_getBlockByNumber', 'eth_getTransactionReceipt'])
      expect(() => checkAnswer(method, value)).toThrow(BadAnswer)
    expect(() => checkAnswer('eth_chainId', value)).toThrow(BadAnswer)
    if (!isFormed('data', value)) expect(() => checkAnswer('eth_call', value)).toThrow(BadAnswer)
  })

  test.each([
    ['five topics', { topics: Array.from({ length: 5 }, () => madeUpHash(1)) }],
    ['a log index of 33 bits', { logIndex: numberToHex(2 ** 32) }],
    ['a block above 2^53', { blockNumber: '0x20000000000000' }],
    ['half a byte', { data: '0x123' }],
  ])('a log has %s', (_, fields) => {
    expect(() => checkAnswer('eth_getLogs', [{ ...log, ...fields }])).toThrow(BadAnswer)
  })
})

test('numbers with leading zeros and hashes in capitals are read as nodes write them', () => {
  const upper = (text: string) => `0x${text.slice(2).toUpperCase()}`
  const odd = {
    ...log,
    blockNumber: '0x000ABC',
    logIndex: '0x00',
    topics: log.topics.map(upper),
  }
  const answer = [{ ...odd, address: upper(log.address), blockHash: upper(log.blockHash) }]
  checkAnswer('eth_getLogs', answer)
  expect(answer).toEqual([{ ...log, blockNumber: '0xabc', logIndex: '0x0' }])
})

describe('a listener', () => {
  let liar: RpcServer
  let honest: RpcServer
  let listening: Listening | undefined
  let clean: unknown[]

  beforeAll(async () => {
    clean = await cleanContent()
  })

  beforeEach(async () => {
    liar = await startNode()
    honest = await startNode()
  })

  afterEach(async () => {
    await listening?.stop()
    await Promise.all([liar.stop(), honest.stop()])
  })

  /** Changes each log, or each header. */
  function lie(of: string, field: string, value: unknown): void {
    if (of === 'log') liar.faults.twistLog = (it) => twisted(it, field, value) as never
    else liar.faults.twistHeader = (it) => twisted(it, field, value)
  }

  test.each(drawn('ill-formed fields', CASES, 12))(
    'reads on beside a preferred endpoint whose $of has $name as its $field',
    async ({ of, field, name, value }) => {
      lie(of, field, value)
      listening = listenTo([liar, honest])
      expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
      if (field !== 'hash' || name !== 'null') expect(listening.problemsOf(liar)).toContain('malformed')
      expect(listening.problemsOf(honest)).toEqual([])
    },
  )

  test.each([
    ['eth_chainId', null],
    ['eth_chainId', '0x'],
    ['eth_call', null],
    ['eth_call', 7],
    ['eth_call', `0x${'0'.repeat(63)}1`],
    ['eth_call', `0x${'f'.repeat(4_096)}`],
  ])('reads on beside a preferred endpoint that answers %s with %j', async (method, result) => {
    liar.faults.answer = (asked) => (asked === method ? { result } : undefined)
    listening = listenTo([liar, honest])
    expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
    expect(listening.problemsOf(liar)).toContain('malformed')
    expect(listening.problemsOf(honest)).toEqual([])
  })

  test('a listener over such an endpoint alone says why, waits longer each time, and reads on once it is sound', async () => {
    liar.faults.twistLog = (it) => ({ ...it, data: null }) as never
    listening = listenTo([liar])
    const { factsOf, log: appended } = listening
    await until(async () => (factsOf('endpoint-cooling').length > 6 ? true : undefined), 'it rests again and again')
    const cooling = factsOf('endpoint-cooling').map(({ ms }) => ms)
    expect(cooling.slice(0, 3)).toEqual([15, 30, 60])
    expect(Math.max(...cooling)).toBe(60)
    const [failure] = factsOf('rpc-failed')
    expect(failure?.endpoint).toBe(hostOf(liar))
    expect(String(failure?.error)).toContain('The node answered null as the data of a log.')
    expect(appended.messages).toEqual([])
    const { twistLog: _, ...sound } = liar.faults
    liar.faults.twistLog = (it) => it
    expect(sound.failNext).toEqual([])
    expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
  })

  test('lets an endpoint that is ill-formed now and then rest longer each time, whatever it answers in between', async () => {
    let answers = 0
    liar.faults.answer = (method) => (method === 'eth_getLogs' && ++answers % 2 === 0 ? { result: [null] } : undefined)
    listening = listenTo([liar, honest], { retryPolicy: { maxCoolDownMs: 300 } })
    expect(contentOf(await listening.messagesUpTo(DAY.lastBlock))).toEqual(clean)
    await until(async () => {
      liar.chain.head++
      honest.chain.head++
      return listening?.factsOf('endpoint-cooling').some(({ ms }) => ms > 100) ? true : undefined
    }, 'it rests for longer')
  })

  test('sends no request to an address that an endpoint names in a revert (ERC-3668)', async () => {
    const asked: string[] = []
    const { fetch } = globalThis
    globalThis.fetch = async (...request) => {
      asked.push(String(request[0]))
      return fetch(...request)
    }
    try {
      liar.faults.answer = (method) =>
        method === 'eth_call'
          ? { error: { code: 3, message: 'execution reverted', data: OFFCHAIN_LOOKUP } as never }
          : undefined
      listening = listenTo([liar, honest])
      await until(async () => ((liar.calls['eth_call'] ?? 0) > 0 ? true : undefined), 'a contract is read')
      await until(
        async () => (listening?.facts.some(({ kind }) => kind === 'rpc-erred') ? true : undefined),
        'it has reverted',
      )
      expect(asked).toEqual([])
    } finally {
      globalThis.fetch = fetch
    }
  })
})
