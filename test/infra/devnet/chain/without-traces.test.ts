import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withoutTraces } from '../../../../infra/devnet/chain/without-traces.ts'

const trace = fc.jsonValue({ maxDepth: 3 })
const transaction = fc.record({
  info: fc.record({ from: fc.string(), traces: fc.array(trace, { maxLength: 3 }), out: trace }),
  receipt: fc.string(),
})

test('every array of traces is empty afterwards and nothing else has changed, however the file is cut into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(transaction, { maxLength: 5 }),
      fc.integer({ min: 1, max: 64 }),
      async (transactions, size) => {
        // Values may hold keys of that name themselves, which the chain's state never does.
        fc.pre(!JSON.stringify(transactions.map(({ info }) => info.out)).includes('"traces"'))
        const text = await strip(JSON.stringify({ transactions, best: 7 }), size)
        const stripped = transactions.map(({ info, receipt }) => ({ info: { ...info, traces: [] }, receipt }))
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ transactions: stripped, best: 7 })))
      },
    ),
  )
})

test('a file that was cut short stays cut short', async () => {
  expect(await strip('{"transactions":[{"traces":[{"a":"', 8)).toBe('{"transactions":[{"traces":[')
})

async function strip(json: string, chunkSize: number): Promise<string> {
  const bytes = Buffer.from(json)
  async function* chunks() {
    for (let start = 0; start < bytes.length; start += chunkSize) yield bytes.subarray(start, start + chunkSize)
  }
  const out: Buffer[] = []
  for await (const chunk of withoutTraces(chunks())) out.push(chunk)
  return Buffer.concat(out).toString()
}
