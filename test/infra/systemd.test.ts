/** The unit of systemd, as systemd reads it. What it starts runs in package.int.test.ts. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VARIABLES } from '../../infra/config/config.ts'
import { ROOT } from '../support/files.ts'

const UNIT = join(ROOT, 'infra/systemd/candlepool@.service')
const withoutSystemd = spawnSync('systemd-analyze', ['--version']).status !== 0

test.skipIf(withoutSystemd)('systemd finds no fault in the unit', ({ onTestFinished }) => {
  const folder = mkdtempSync(join(tmpdir(), 'candlepool-unit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const instance = join(folder, 'candlepool@start.service')
  copyFileSync(UNIT, instance)
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', instance], { encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('the unit starts Node itself, and sets only variables that are read', () => {
  const unit = readFileSync(UNIT, 'utf8')
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/env node \S+\/candlepool\.js %i$/m)
  const set = [...unit.matchAll(/^Environment=(\w+)=/gm)].map(([, name = '']) => name)
  expect(set.filter((name) => !VARIABLES.includes(name))).toEqual([])
})
