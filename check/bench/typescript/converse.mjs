// The measured process's side of the conversation with the program that measures
// it; package internal/subject says how it goes.
import { createInterface } from 'node:readline';

const reading = () => {
  const { user, system } = process.cpuUsage();
  return { cpu: (user + system) * 1000, wall: Math.round(performance.now() * 1e6), allocs: 0, bytes: 0 };
};

export async function converse(word, run) {
  console.log(`ready ${word}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const [order, argument] = line.split(' ');
    const before = reading();
    let said = before;
    if (order === 'run' && run) {
      for (let i = 0; i < Number(argument); i++) await run();
      const after = reading();
      said = { ...after, cpu: after.cpu - before.cpu, wall: after.wall - before.wall };
    } else if (order !== 'meter') {
      throw new Error(`not an order: ${line}`);
    }
    console.log(JSON.stringify(said));
  }
  process.exit(0);
}
