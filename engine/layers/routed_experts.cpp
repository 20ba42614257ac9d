#include "layers/routed_experts.h"

#include "kernels/word_books.h"
#include "layers/feed_forward.h"

#include <array>
#include <cassert>
#include <optional>

namespace waste {

namespace {

using kernels::TableInput;

constexpr std::uint32_t kRowsPerBlock = 128; // of few vectors; whole index blocks
constexpr std::uint32_t kRowsPerBlockOfMany = 64;
constexpr std::uint32_t kPositionsPerBlock = 128; // of a table; whole blocks, and enough to outweigh the preparation
constexpr std::uint32_t kColumnsPerBlock = 256; // of inputs that are put side by side
static_assert(kRowsPerBlockOfMany == kernels::kWordRows && kRowsPerBlockOfMany == kernels::kWordGroup);
static_assert(kColumnsPerBlock % kernels::kWordGroup == 0);
// Where products are exact: up to so many vectors it is faster to decode rows anew for every four than to fill a tile
// for whole registers of them, and so is it for so many that would begin another register.
constexpr std::uint32_t kFewVectors = 8;
constexpr std::uint32_t kFewLeftOver = 4;

enum Matrix : std::size_t { kGate, kUp, kDown };

class RoutedExperts final : public ExpertPipeline::Work {
public:
    RoutedExperts(const Compute& compute, const ModelConfig& config, const Routing& routing,
        const kernels::TokenInput& input, const RoutedScratch& scratch)
        : m_compute(compute)
        , m_config(config)
        , m_routing(routing)
        , m_input(input)
        , m_scratch(scratch)
        , m_width(config.expertInputWidth())
        , m_inputStride(roundUp(m_width, kernels::kWordGroup))
        , m_hiddenStride(roundUp(std::size_t{config.expertWidth}, kernels::kWordGroup))
        , m_placeCount(RoutedScratch::placesFor(config, routing.tokens))
        , m_partTokens(routing.tokens == 1 ? 1 : RoutedScratch::partTokens(routing.chunkTokensMax))
    {
    }

    // Sorts the pairs by their experts, counting.
    void sortPairs()
    {
        const std::span<std::uint32_t> first = m_scratch.firstPair;
        std::fill(first.begin(), first.end(), 0U);
        for (const std::uint16_t expert : m_routing.experts)
            ++first[expert + 1U];
        for (std::size_t expert = 1; expert < first.size(); ++expert)
            first[expert] += first[expert - 1];
        // Each entry runs through the pairs of its expert, to where those of the next begin.
        for (std::uint32_t choice = 0; choice < m_routing.experts.size(); ++choice) {
            const std::uint32_t pair = first[m_routing.experts[choice]]++;
            m_scratch.pairTokens[pair] = choice / m_routing.expertsPerToken;
            m_scratch.pairOfChoice[choice] = pair;
        }
        for (std::size_t expert = first.size() - 1; expert > 0; --expert)
            first[expert] = first[expert - 1];
        first[0] = 0;
    }

    Status run(ExpertSource& source, const CancelFlag* cancel)
    {
        std::optional<ExpertSource::Arrival> first;
        if (m_routing.tokens == 1 || m_compute.arithmetic == Arithmetic::Reduced) {
            if (cancel != nullptr && cancel->isCancelled())
                return Error{ErrorCode::Cancelled, "", "stopped while computing"};
            // All experts of a layer are stored in one format and share their codebooks, and with one token the input.
            WASTE_TRY(first, source.acquireNext());
            if (const auto* const matrices = std::get_if<VqExpert>(&first->pin.view()))
                prepare(*matrices);
        }
        ExpertPipeline pipeline(m_compute.pool, source, *this,
            {.expertCount = m_routing.distinctCount, .placeCount = m_placeCount, .cancel = cancel});
        return pipeline.run(std::move(first));
    }

    // In ascending order of the experts.
    void sumOutputs(float* sum) const
    {
        const std::size_t chosen = m_routing.expertsPerToken;
        m_compute.pool.parallelFor(
            m_routing.tokens, pieceGrain(chosen * m_width), [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
                for (std::size_t token = begin; token < end; ++token) {
                    float* const row = sum + token * m_width;
                    std::fill_n(row, m_width, 0.0F);
                    for (std::size_t i = token * chosen; i < (token + 1) * chosen; ++i)
                        m_compute.kernels.addScaled(
                            m_routing.weights[i], output(m_scratch.pairOfChoice[i]), row, m_width);
                }
            });
    }

    // ---- ExpertPipeline::Work

    void enter(std::uint32_t place, std::uint16_t expert, const ExpertView& view) override
    {
        m_members[place] = {.view = &view,
            .place = place,
            .nextPair = m_scratch.firstPair[expert],
            .endPair = m_scratch.firstPair[expert + 1U],
            .stage = Stage::Down};
    }

    std::uint32_t nextStage(std::uint32_t place) override
    {
        Member& member = m_members[place];
        switch (member.stage) {
        case Stage::Down: // on with the next part
            if (member.nextPair == member.endPair)
                return 0;
            member.firstPair = member.nextPair;
            member.pairCount = partOf(member.endPair - member.firstPair);
            member.nextPair += member.pairCount;
            member.stage = Stage::Gather;
            if (m_routing.tokens > 1)
                return static_cast<std::uint32_t>(ceilDivide(m_width, std::size_t{kColumnsPerBlock}));
            [[fallthrough]]; // the only token is read in place
        case Stage::Gather:
            member.stage = Stage::Input;
            return ceilDivide(m_config.expertWidth, rowsPerBlock(member));
        case Stage::Input:
            member.stage = Stage::Tables;
            if (m_tables != nullptr)
                return static_cast<std::uint32_t>(ceilDivide(hiddenPositions(), std::size_t{kPositionsPerBlock}));
            [[fallthrough]];
        case Stage::Tables:
            break;
        }
        member.stage = Stage::Down;
        return ceilDivide(static_cast<std::uint32_t>(m_width), rowsPerBlock(member));
    }

    void compute(std::uint32_t place, std::uint32_t block, std::uint32_t worker) override
    {
        const Member& member = m_members[place];
        switch (member.stage) {
        case Stage::Gather:
            return gather(member, rangeOf(block, kColumnsPerBlock, m_width));
        case Stage::Input:
            return computeHidden(member, rangeOf(block, rowsPerBlock(member), m_config.expertWidth), worker);
        case Stage::Tables:
            return buildHiddenTables(member, rangeOf(block, kPositionsPerBlock, hiddenPositions()));
        case Stage::Down:
            return computeOutput(member, rangeOf(block, rowsPerBlock(member), m_width), worker);
        }
    }

private:
    enum class Stage : std::uint8_t { Gather, Input, Tables, Down };

    // An expert at work, with some of its pairs.
    struct Member {
        const ExpertView* view = nullptr;
        std::uint32_t place = 0;
        std::uint32_t firstPair = 0; // of this part
        std::uint32_t pairCount = 0;
        std::uint32_t nextPair = 0; // of the next part
        std::uint32_t endPair = 0;
        Stage stage = Stage::Down;

        // Vectors side by side, those that only fill the last register included.
        [[nodiscard]] std::size_t sideBySide() const { return roundUp(std::size_t{pairCount}, kernels::kSideBySide); }
    };

    [[nodiscard]] bool isFew(const Member& member) const { return !m_usesWords && member.pairCount <= kFewVectors; }

    // How many of the pairs that are left are computed together.
    [[nodiscard]] std::uint32_t partOf(std::uint32_t pairsLeft) const
    {
        const std::uint32_t count = std::min(pairsLeft, m_partTokens);
        const std::uint32_t leftOver = count % kernels::kSideBySide;
        const bool isSplit = !m_usesWords && count > kernels::kSideBySide && leftOver <= kFewLeftOver;
        return isSplit ? count - leftOver : count;
    }

    struct Range {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        [[nodiscard]] std::size_t size() const { return end - begin; }
    };
    static Range rangeOf(std::uint32_t block, std::uint32_t blockSize, std::size_t count)
    {
        const std::uint32_t begin = block * blockSize;
        return {begin, std::min(begin + blockSize, static_cast<std::uint32_t>(count))};
    }
    [[nodiscard]] std::uint32_t rowsPerBlock(const Member& member) const
    {
        return isFew(member) ? m_rowsPerBlock : kRowsPerBlockOfMany;
    }

    // ---- what the products read

    void prepare(const VqExpert& matrices)
    {
        if (m_routing.tokens == 1)
            return prepareTables(matrices);
        m_usesWords = std::all_of(matrices.begin(), matrices.end(), kernels::takesWords);
        for (std::size_t i = 0; m_usesWords && i < matrices.size(); ++i) {
            const auto memory = m_scratch.books.subspan(i * RoutedScratch::kBookWords, RoutedScratch::kBookWords);
            m_books[i] = kernels::buildWordBooks(matrices[i], memory);
        }
    }

    void prepareTables(const VqExpert& matrices)
    {
        const kernels::ProductTables& tables = m_compute.arithmetic == Arithmetic::Reduced
            ? m_compute.kernels.reducedTables
            : m_compute.kernels.exactTables;
        const auto [least, most] = std::minmax({tables.positionBytes(matrices[kGate]),
            tables.positionBytes(matrices[kUp]), tables.positionBytes(matrices[kDown])});
        if (least == 0)
            return;
        m_tables = &tables;
        m_tableBytes = most;
        m_rowsPerBlock = rowsPerTable();
        buildInputTables(matrices);
    }

    // So many rows that reading their indices outweighs reading the table, which may lie in a farther cache; but an
    // expert that is alone should still be shared by all workers.
    [[nodiscard]] std::uint32_t rowsPerTable() const
    {
        constexpr std::size_t kSmallest = kernels::reducedTableBytes(kernels::kPackedTables);
        const auto wanted = kRowsPerBlock * static_cast<std::uint32_t>(ceilDivide(m_tableBytes, kSmallest));
        const std::uint32_t share = roundUp(ceilDivide(m_config.expertWidth, m_compute.pool.threadCount()),
            static_cast<std::uint32_t>(kernels::kTableRows));
        return std::max(std::min(wanted, share), kRowsPerBlock);
    }

    void buildInputTables(const VqExpert& matrices)
    {
        const std::size_t positions = m_width / kernels::kTableColumns;
        const auto blocks = static_cast<std::uint32_t>(ceilDivide(positions, std::size_t{kPositionsPerBlock}));
        m_compute.pool.parallelFor(2 * blocks, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::uint32_t item = begin; item < end; ++item) {
                const Matrix matrix = item < blocks ? kGate : kUp;
                const Range range = rangeOf(item % blocks, kPositionsPerBlock, positions);
                m_tables->build(matrices[matrix], m_input.x, inputTables(matrix), range.begin, range.end);
            }
        });
    }

    void buildHiddenTables(const Member& member, const Range& positions) const
    {
        m_tables->build(vqMatrix(member, kDown), gate(member), hiddenTables(member), positions.begin, positions.end);
    }

    // Some columns of the part's inputs: in words, row after row if they are few, else side by side.
    void gather(const Member& member, const Range& columns) const
    {
        if (m_usesWords)
            return gatherWords(member, columns);
        float* const target = inputs(member);
        const std::size_t count = member.sideBySide();
        for (std::size_t i = 0; i < member.pairCount; ++i) {
            const float* const x = pairInput(member, i);
            if (isFew(member)) {
                std::copy(x + columns.begin, x + columns.end, target + i * m_width + columns.begin);
                continue;
            }
            for (std::size_t column = columns.begin; column < columns.end; ++column)
                target[column * count + i] = x[column];
        }
        if (isFew(member))
            return;
        for (std::size_t i = member.pairCount; i < count; ++i) {
            for (std::size_t column = columns.begin; column < columns.end; ++column)
                target[column * count + i] = 0;
        }
    }

    void gatherWords(const Member& member, const Range& columns) const
    {
        for (std::uint32_t column = columns.begin; column < columns.end; column += kernels::kWordGroup) {
            kernels::WordGroup* const groups = wordsOf(inputs(member), column);
            const std::size_t width = std::min<std::size_t>(columns.end - column, kernels::kWordGroup);
            for (std::size_t i = 0; i < member.pairCount; ++i)
                m_compute.kernels.splitWords(pairInput(member, i) + column, width, groups[i]);
        }
    }

    // ---- products of some rows, by one worker

    // Rows of gate and up, and their activation, which replaces gate.
    void computeHidden(const Member& member, const Range& rows, std::uint32_t worker) const
    {
        if (m_usesWords)
            return computeHiddenWords(member, rows, worker);
        if (!isFew(member)) {
            multiplySideBySide(member, kGate, inputs(member), gate(member), rows, worker);
            multiplySideBySide(member, kUp, inputs(member), up(member), rows, worker);
            const std::size_t first = rows.begin * member.sideBySide();
            activate(m_compute.kernels, m_config, gate(member) + first, up(member) + first,
                rows.size() * member.sideBySide());
            return;
        }
        for (const Matrix matrix : {kGate, kUp}) {
            float* const y = matrix == kGate ? gate(member) : up(member);
            if (m_tables != nullptr)
                m_tables->multiply(vqMatrix(member, matrix), inputTables(matrix), y, rows.begin, rows.end);
            else
                multiplyFew(member, matrix, inputRows(member), {y, m_config.expertWidth}, rows, worker);
        }
        for (std::size_t i = 0; i < member.pairCount; ++i) {
            const std::size_t first = i * m_config.expertWidth + rows.begin;
            activate(m_compute.kernels, m_config, gate(member) + first, up(member) + first, rows.size());
        }
    }

    // Words of the hidden vectors take the place of up.
    void computeHiddenWords(const Member& member, const Range& rows, std::uint32_t worker) const
    {
        float* const gates = blockOf(gate(member), rows.begin);
        float* const ups = blockOf(up(member), rows.begin);
        multiplyWords(member, kGate, inputs(member), gates, rows.begin, worker);
        multiplyWords(member, kUp, inputs(member), ups, rows.begin, worker);
        activate(m_compute.kernels, m_config, gates, ups, member.pairCount * kernels::kWordRows);
        kernels::WordGroup* const words = wordsOf(up(member), rows.begin);
        for (std::size_t i = 0; i < member.pairCount; ++i)
            m_compute.kernels.splitWords(gates + i * kernels::kWordRows, rows.size(), words[i]);
    }

    void computeOutput(const Member& member, const Range& rows, std::uint32_t worker) const
    {
        float* const y = output(member.firstPair);
        if (m_usesWords) {
            // The inputs have served, their place is as large as the outputs'.
            float* const block = blockOf(inputs(member), rows.begin);
            multiplyWords(member, kDown, up(member), block, rows.begin, worker);
            for (std::size_t i = 0; i < member.pairCount; ++i)
                std::copy_n(block + i * kernels::kWordRows, rows.size(), y + i * m_width + rows.begin);
            return;
        }
        if (m_tables != nullptr) {
            m_tables->multiply(vqMatrix(member, kDown), hiddenTables(member), y, rows.begin, rows.end);
        } else if (isFew(member)) {
            const kernels::TokenInput hidden = {gate(member), m_config.expertWidth, member.pairCount};
            multiplyFew(member, kDown, hidden, {y, m_width}, rows, worker);
        } else {
            float* const sideBySide = inputs(member);
            multiplySideBySide(member, kDown, gate(member), sideBySide, rows, worker);
            for (std::size_t i = 0; i < member.pairCount; ++i) {
                for (std::size_t row = rows.begin; row < rows.end; ++row)
                    y[i * m_width + row] = sideBySide[row * member.sideBySide() + i];
            }
        }
    }

    void multiplyFew(const Member& member, Matrix matrix, const kernels::TokenInput& input,
        const kernels::TokenOutput& output, const Range& rows, std::uint32_t worker) const
    {
        const kernels::KernelTable& kernels = m_compute.kernels;
        if (const auto* const matrices = std::get_if<VqExpert>(member.view))
            multiply(kernels, (*matrices)[matrix], input, output, rows.begin, rows.end);
        else
            multiply(kernels, std::get<DenseExpert>(*member.view)[matrix], input, output, rows.begin, rows.end,
                m_compute.tile(worker));
    }

    void multiplySideBySide(
        const Member& member, Matrix matrix, const float* x, float* y, const Range& rows, std::uint32_t worker) const
    {
        std::visit(
            [&](const auto& matrices) {
                multiply(m_compute.kernels, matrices[matrix], kernels::SideBySide{x, member.sideBySide()}, y,
                    rows.begin, rows.end, m_compute.tile(worker));
            },
            *member.view);
    }

    // `words` are those of the inputs or of the hidden vectors.
    void multiplyWords(
        const Member& member, Matrix matrix, float* words, float* y, std::uint32_t row, std::uint32_t worker) const
    {
        kernels::multiplyWords(m_compute.kernels, vqMatrix(member, matrix), m_books[matrix],
            {wordsOf(words, 0), m_partTokens, member.pairCount}, y, row, m_compute.tile(worker));
    }

    // ---- places

    [[nodiscard]] std::size_t firstVector(const Member& member) const
    {
        return std::size_t{member.place} * m_partTokens;
    }
    [[nodiscard]] float* inputs(const Member& member) const
    {
        return m_scratch.inputs.data() + firstVector(member) * m_inputStride;
    }
    [[nodiscard]] float* gate(const Member& member) const
    {
        return m_scratch.gate.data() + firstVector(member) * m_hiddenStride;
    }
    [[nodiscard]] float* up(const Member& member) const
    {
        return m_scratch.up.data() + firstVector(member) * m_hiddenStride;
    }
    // In words a buffer of vectors holds one block of 64 values of all vectors after another.
    [[nodiscard]] float* blockOf(float* buffer, std::size_t firstValue) const
    {
        return buffer + firstValue * m_partTokens;
    }
    [[nodiscard]] kernels::WordGroup* wordsOf(float* buffer, std::size_t firstValue) const
    {
        return reinterpret_cast<kernels::WordGroup*>(blockOf(buffer, firstValue));
    }
    [[nodiscard]] const float* pairInput(const Member& member, std::size_t i) const
    {
        return m_input.x + m_scratch.pairTokens[member.firstPair + i] * m_input.stride;
    }
    [[nodiscard]] float* output(std::size_t pair) const { return m_scratch.outputs.data() + pair * m_width; }
    [[nodiscard]] kernels::TokenInput inputRows(const Member& member) const
    {
        return {m_routing.tokens == 1 ? m_input.x : inputs(member), m_width, member.pairCount};
    }
    [[nodiscard]] std::size_t hiddenPositions() const { return m_config.expertWidth / kernels::kTableColumns; }

    static const kernels::VqMatrixView& vqMatrix(const Member& member, Matrix matrix)
    {
        return std::get<VqExpert>(*member.view)[matrix];
    }

    [[nodiscard]] TableInput inputTables(Matrix matrix) const
    {
        const std::size_t positions = m_width / kernels::kTableColumns;
        return {m_scratch.inputEntries.data() + matrix * positions * m_tableBytes,
            m_scratch.inputScales.data() + matrix * RoutedScratch::blocksOf(positions), positions};
    }

    [[nodiscard]] TableInput hiddenTables(const Member& member) const
    {
        const std::size_t positions = hiddenPositions();
        return {m_scratch.hiddenEntries.data() + member.place * positions * m_tableBytes,
            m_scratch.hiddenScales.data() + member.place * RoutedScratch::blocksOf(positions), positions};
    }

    const Compute& m_compute;
    const ModelConfig& m_config;
    const Routing& m_routing;
    const kernels::TokenInput m_input;
    const RoutedScratch& m_scratch;
    const std::size_t m_width; // of an expert's input and output
    const std::size_t m_inputStride, m_hiddenStride; // of vectors in scratch
    const std::uint32_t m_placeCount;
    const std::uint32_t m_partTokens;
    std::array<Member, ExpertPipeline::kPlacesMax> m_members;
    const kernels::ProductTables* m_tables = nullptr; // of a lone token
    std::size_t m_tableBytes = 0; // of a position
    std::uint32_t m_rowsPerBlock = kRowsPerBlock; // of few vectors
    bool m_usesWords = false;
    std::array<kernels::WordBooks, 3> m_books; // in words
};

} // namespace

Status runRoutedExperts(const Compute& compute, const ModelConfig& config, const Routing& routing, ExpertSource& source,
    const kernels::TokenInput& input, const RoutedScratch& scratch, float* sum, const CancelFlag* cancel)
{
    RoutedExperts experts(compute, config, routing, input, scratch);
    experts.sortPairs();
    WASTE_TRY_STATUS(experts.run(source, cancel));
    experts.sumOutputs(sum);
    return {};
}

} // namespace waste
