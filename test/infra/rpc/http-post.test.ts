import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { postTo } from '../../../infra/rpc/http-post.ts'

test('an answer reads as it was written, whether it is ASCII or not', async () => {
  const server = createServer((request, response) => request.pipe(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const post = postTo(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'here', 5_000)
  for (const body of [{ result: '0x00' }, { message: 'köstet 5 € 🦄' }]) expect(await post(body)).toEqual(body)
  server.close()
})
