/* The peer of benchmarks/scale.py: the same Monte Carlo work by hand in C.

   Scrambled Sobol' points in ten dimensions, quantiles (three log-normal by the same rational, four triangular, three
   uniform), the published formulas of one run, and of three outputs count, mean, squared deviations, least and greatest
   with the number of their point, the share below zero and a histogram with 512 bins per octave; in blocks that stay in the first-level cache, one replicate per thread at a
   time.

   usage: scale_peer INPUT OUTPUT. INPUT is little-endian: int64 replicates, log2_points; 3 x (mu, sigma, shift),
   4 x (low, mode, high), 3 x (low, high), the constants below in order; per replicate uint64 directions[10][52] and
   shifts[10]. OUTPUT: seconds, then per output count, mean, variance, least, greatest, share below zero, then 81924 int64 counts. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIMENSIONS 10
#define OUTPUTS 3
#define LOG2_BLOCK 9
#define BLOCK (1 << LOG2_BLOCK)
#define LOW (-24)
#define HIGH 56
#define BINS ((int64_t)(HIGH - LOW) << 9)
#define COUNTS (2 * BINS + 4)

struct constants {
    double prompts, rollouts, steps, epochs, turns, observation, multiplier, sandbox;
    double sample, train, prefill;
    double weight_bytes, active, kv, train_flop;
    double gpus, bandwidth, matrix_rate;
};

struct moments { int64_t count, held, least_number, greatest_number; double mean, squares, least, greatest; };

static double lognormal[3][3], triangular[4][3], uniform[3][2];
static struct constants c;

static inline double normal_quantile(double u)
{
    double tail = u > 0.5 ? 1.0 - u : u;
    double r = sqrt(-log(tail));
    double p = 1.1582789442439634;
    p = p * r + 27.71750253635941;
    p = p * r + 127.46379098230892;
    p = p * r + 91.9138654564289;
    p = p * r - 102.5317084857361;
    p = p * r - 61.07285222824793;
    p = p * r - 3.839061394163288;
    double q = 0.8189962258478173;
    q = q * r + 19.605844104901887;
    q = q * r + 92.37264357476276;
    q = q * r + 99.9377522674331;
    q = q * r + 25.719018186071878;
    q = q * r + 1.0;
    double z = p / q;
    return u > 0.5 ? z : -z;
}

static inline double unit(uint64_t x)
{
    x |= (uint64_t)0x3ff << 52;
    double y;
    memcpy(&y, &x, 8);
    return y - (1.0 - 0x1p-53);
}

static inline int64_t place(double y)
{
    uint64_t bits;
    memcpy(&bits, &y, 8);
    int64_t size = (int64_t)((bits & INT64_MAX) >> 43);
    if (size >= (int64_t)0x7ff << 9) return 2 * BINS + 3;
    int64_t at = size - (((int64_t)(1023 + LOW) << 9) - 1);
    if (at < 0) at = 0;
    if (at > BINS + 1) at = BINS + 1;
    return BINS + 1 + (y < 0 ? -at : at);
}

static void one_block(double x[DIMENSIONS][BLOCK], double y[OUTPUTS][BLOCK])
{
    for (int d = 0; d < 3; d++) {
        double mu = lognormal[d][0], sigma = lognormal[d][1], shift = lognormal[d][2];
        for (int i = 0; i < BLOCK; i++) x[d][i] = shift + exp(mu + sigma * normal_quantile(x[d][i]));
    }
    for (int d = 0; d < 4; d++) {
        double low = triangular[d][0], mode = triangular[d][1], high = triangular[d][2], width = high - low;
        double *u = x[3 + d];
        for (int i = 0; i < BLOCK; i++) {
            int rising = u[i] * width < mode - low;
            double root = sqrt(rising ? u[i] * (width * (mode - low)) : (1.0 - u[i]) * (width * (high - mode)));
            u[i] = rising ? low + root : high - root;
        }
    }
    for (int d = 0; d < 3; d++) {
        double low = uniform[d][0], width = uniform[d][1] - uniform[d][0];
        for (int i = 0; i < BLOCK; i++) x[7 + d][i] = low + width * x[7 + d][i];
    }
    double batch = c.prompts * c.rollouts / c.gpus, runs = c.prompts * c.rollouts * c.steps;
    for (int i = 0; i < BLOCK; i++) {
        double growth = x[0][i], length = x[1][i], rent = x[2][i], efficiency = x[3][i], mfu = x[4][i];
        double turns_growth = x[5][i], failure = x[6][i], prompt = x[7][i], hit = x[8][i], extra = x[9][i];
        double output = length * ((1.0 + growth) / 2.0);
        double turns = c.turns * ((1.0 + turns_growth) / 2.0) * (1.0 + failure * extra);
        double sampled = runs * turns * output, trained = sampled * c.epochs;
        double prefill = runs * (turns * prompt + (output + c.observation) * turns * (turns - 1.0) / 2.0);
        double fee = runs * c.sandbox;
        double tinker = sampled * c.sample / 1e6 + trained * c.train / 1e6 + prefill * c.prefill / 1e6 + fee;
        double context = prompt + (output + c.observation) * (turns - 1.0) / 2.0 + output / 2.0;
        double memory = c.bandwidth / (c.weight_bytes + c.kv * context * batch) * batch;
        double compute = c.matrix_rate / (2.0 * c.active);
        double speed = c.gpus * (memory <= compute ? memory : compute) * efficiency;
        double decode_hours = sampled / speed / 3600.0;
        double read_speed = c.gpus * c.matrix_rate * efficiency / (2.0 * c.active);
        double prefill_hours = prefill * (1.0 - hit) / read_speed / 3600.0;
        double train_hours = trained / (c.gpus * c.matrix_rate * mfu / c.train_flop) / 3600.0;
        double hours = decode_hours + prefill_hours + train_hours;
        y[0][i] = tinker * c.multiplier;
        y[1][i] = (hours * c.gpus * rent + fee) * c.multiplier;
        y[2][i] = y[1][i] - y[0][i];
    }
}

static void add(struct moments *m, int64_t *counts, const double *y, int64_t number)
{
    double sum = 0, least = y[0], greatest = y[0];
    for (int i = 0; i < BLOCK; i++) sum += y[i];
    for (int i = 0; i < BLOCK; i++) {
        least = y[i] < least ? y[i] : least;
        greatest = y[i] > greatest ? y[i] : greatest;
    }
    double mean = sum / BLOCK, squares = 0;
    for (int i = 0; i < BLOCK; i++) squares += (y[i] - mean) * (y[i] - mean);
    double total = (double)(m->count + BLOCK), share = BLOCK / total, step = mean - m->mean;
    m->squares += squares + step * step * m->count * share;
    m->mean += step * share;
    m->count += BLOCK;
    if (least < m->least) {
        m->least = least;
        for (int i = BLOCK - 1; i >= 0; i--)
            if (y[i] == least) m->least_number = number + i;
    }
    if (greatest > m->greatest) {
        m->greatest = greatest;
        for (int i = BLOCK - 1; i >= 0; i--)
            if (y[i] == greatest) m->greatest_number = number + i;
    }
    int64_t held = 0;
    for (int i = 0; i < BLOCK; i++) held += y[i] < 0;
    m->held += held;
    for (int i = 0; i < BLOCK; i++) counts[place(y[i])]++;
}

static void replicate(int64_t log2_points, const uint64_t *directions, const uint64_t *shifts, struct moments *m,
                      int64_t *counts)
{
    static _Thread_local uint64_t table[DIMENSIONS][BLOCK];
    static _Thread_local double x[DIMENSIONS][BLOCK], y[OUTPUTS][BLOCK];
    for (int d = 0; d < DIMENSIONS; d++)
        for (int i = 0; i < BLOCK; i++) {
            table[d][i] = 0;
            for (int k = 0; k < LOG2_BLOCK; k++)
                if (i >> k & 1) table[d][i] ^= directions[52 * d + k];
        }
    for (int64_t block = 0; block < (int64_t)1 << (log2_points - LOG2_BLOCK); block++) {
        for (int d = 0; d < DIMENSIONS; d++) {
            uint64_t start = shifts[d];
            for (int k = LOG2_BLOCK; k < log2_points; k++)
                if (block >> (k - LOG2_BLOCK) & 1) start ^= directions[52 * d + k];
            for (int i = 0; i < BLOCK; i++) x[d][i] = unit(start ^ table[d][i]);
        }
        one_block(x, y);
        for (int o = 0; o < OUTPUTS; o++) add(&m[o], counts + o * COUNTS, y[o], block << LOG2_BLOCK);
    }
}

static void load(void *to, size_t size, FILE *file)
{
    if (fread(to, size, 1, file) != 1) {
        fprintf(stderr, "the input is too short\n");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: scale_peer INPUT OUTPUT\n");
        return 1;
    }
    int64_t size[2];
    load(size, sizeof size, file);
    load(lognormal, sizeof lognormal, file);
    load(triangular, sizeof triangular, file);
    load(uniform, sizeof uniform, file);
    load(&c, sizeof c, file);
    int64_t replicates = size[0];
    uint64_t *directions = malloc(replicates * DIMENSIONS * 53 * 8);
    load(directions, replicates * DIMENSIONS * 53 * 8, file);
    fclose(file);
    struct moments *m = malloc(replicates * OUTPUTS * sizeof *m);
    int64_t *counts = calloc(replicates * OUTPUTS * COUNTS, 8);
    for (int64_t i = 0; i < replicates * OUTPUTS; i++) m[i] = (struct moments){0, 0, 0, 0, 0, 0, 1e300, -1e300};
    struct timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
#pragma omp parallel for schedule(dynamic)
    for (int64_t r = 0; r < replicates; r++) {
        const uint64_t *own = directions + r * DIMENSIONS * 53;
        replicate(size[1], own, own + DIMENSIONS * 52, m + r * OUTPUTS, counts + r * OUTPUTS * COUNTS);
    }
    clock_gettime(CLOCK_MONOTONIC, &t1);
    file = fopen(argv[2], "wb");
    double seconds = t1.tv_sec - t0.tv_sec + 1e-9 * (t1.tv_nsec - t0.tv_nsec);
    fwrite(&seconds, 8, 1, file);
    for (int o = 0; o < OUTPUTS; o++) {
        struct moments all = m[o];
        int64_t *sum = counts + o * COUNTS;
        for (int64_t r = 1; r < replicates; r++) {
            struct moments part = m[r * OUTPUTS + o];
            double total = (double)(all.count + part.count), share = part.count / total, step = part.mean - all.mean;
            all.squares += part.squares + step * step * all.count * share;
            all.mean += step * share;
            all.count += part.count;
            all.held += part.held;
            if (part.least < all.least) all.least = part.least;
            if (part.greatest > all.greatest) all.greatest = part.greatest;
            for (int64_t i = 0; i < COUNTS; i++) sum[i] += counts[(r * OUTPUTS + o) * COUNTS + i];
        }
        double figures[6] = {(double)all.count, all.mean, all.squares / all.count, all.least, all.greatest,
                             (double)all.held / all.count};
        fwrite(figures, sizeof figures, 1, file);
        fwrite(sum, 8, COUNTS, file);
    }
    fclose(file);
    return 0;
}
