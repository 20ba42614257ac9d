#include "layers/routed_experts.h"

#include "layers/feed_forward.h"

#include <array>
#include <cassert>
#include <optional>

namespace waste {

namespace {

using kernels::TableInput;

constexpr std::uint32_t kRowsPerItem = 128; // of one expert; whole index blocks
constexpr std::uint32_t kPositionsPerItem = 128; // of a table; whole blocks, and enough to outweigh the preparation

// An expert of the batch at hand. Rows of the batch's buffers are its pairs in their order.
struct Member {
    ExpertSource::Arrival arrival;
    std::uint32_t firstPair = 0; // of all pairs
    std::uint32_t pairCount = 0;
    std::uint32_t firstRow = 0; // of the batch's buffers
};

class RoutedExperts {
public:
    RoutedExperts(const Compute& compute, const ModelConfig& config, const Routing& routing,
        const kernels::TokenInput& input, const RoutedScratch& scratch)
        : m_compute(compute)
        , m_config(config)
        , m_routing(routing)
        , m_input(input)
        , m_scratch(scratch)
        , m_width(config.expertInputWidth())
        , m_pairsMax(RoutedScratch::batchPairsMax(config, routing.tokens))
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

    // Takes experts until all have been computed.
    Status run(ExpertSource& source, const CancelFlag* cancel)
    {
        std::optional<ExpertSource::Arrival> waiting; // arrived, but did not fit into the batch
        for (std::size_t done = 0; done < m_routing.distinctCount;) {
            if (cancel != nullptr && cancel->isCancelled())
                return Error{ErrorCode::Cancelled, "", "stopped before an expert was read"};
            if (!waiting) {
                WASTE_TRY(waiting, source.acquireNext());
            }
            while (waiting && hasRoomFor(waiting->expert)) {
                add(std::move(*waiting));
                waiting.reset();
                if (m_memberCount < m_membersMax) {
                    WASTE_TRY(waiting, source.tryAcquireNext());
                }
            }
            compute();
            done += m_memberCount;
            clear();
        }
        return {};
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

private:
    [[nodiscard]] std::uint32_t pairCountOf(std::uint16_t expert) const
    {
        return m_scratch.firstPair[expert + 1U] - m_scratch.firstPair[expert];
    }

    [[nodiscard]] bool hasRoomFor(std::uint16_t expert) const
    {
        return m_memberCount < m_membersMax && m_rowCount + pairCountOf(expert) <= m_pairsMax;
    }

    void add(ExpertSource::Arrival arrival)
    {
        Member& member = m_members[m_memberCount++];
        member.firstPair = m_scratch.firstPair[arrival.expert];
        member.pairCount = pairCountOf(arrival.expert);
        member.firstRow = m_rowCount;
        member.arrival = std::move(arrival);
        m_rowCount += member.pairCount;
    }

    void clear()
    {
        for (Member& member : std::span(m_members).first(m_memberCount))
            member.arrival.pin = {};
        m_memberCount = 0;
        m_rowCount = 0;
    }

    enum Matrix : std::size_t { kGate, kUp, kDown };

    // For one token, whose input all its experts share; all experts of a layer are stored in one format.
    [[nodiscard]] bool takeTables() const
    {
        const auto* const matrices = std::get_if<VqExpert>(&m_members[0].arrival.pin.view());
        return m_compute.arithmetic == Arithmetic::Reduced && m_routing.tokens == 1 && matrices != nullptr
            && std::all_of(matrices->begin(), matrices->end(), kernels::takesTables);
    }

    void compute()
    {
        m_usesTables = takeTables();
        if (m_usesTables)
            buildInputTables();
        else
            gatherInputs();
        forRows(m_config.expertWidth, 2 * m_width,
            [&](const Member& member, std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                multiplyInput(kGate, member, begin, end, worker);
                multiplyInput(kUp, member, begin, end, worker);
                for (std::size_t row = member.firstRow; row < member.firstRow + member.pairCount; ++row)
                    activate(m_compute.kernels, m_config, gate(row) + begin, up(row) + begin, end - begin);
            });
        if (m_usesTables)
            buildHiddenTables();
        forRows(static_cast<std::uint32_t>(m_width), m_config.expertWidth,
            [&](const Member& member, std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                multiplyHidden(member, begin, end, worker);
            });
    }

    // Calls body for pieces of `rows` rows of every expert of the batch, in parallel.
    template<typename Body>
    void forRows(std::uint32_t rows, std::size_t multiplyAddsPerRow, const Body& body) const
    {
        const std::uint32_t blocks = ceilDivide(rows, kRowsPerItem);
        const std::size_t pairsPerMember = m_rowCount / m_memberCount;
        m_compute.pool.parallelFor(m_memberCount * blocks,
            pieceGrain(kRowsPerItem * multiplyAddsPerRow * pairsPerMember),
            [&](std::uint32_t begin, std::uint32_t end, std::uint32_t worker) {
                for (std::uint32_t item = begin; item < end; ++item) {
                    const std::uint32_t first = item % blocks * kRowsPerItem;
                    body(m_members[item / blocks], first, std::min(first + kRowsPerItem, rows), worker);
                }
            });
    }

    // ---- what the products read

    // Each expert's inputs, row after row; one token's is read in place.
    void gatherInputs() const
    {
        if (m_routing.tokens == 1)
            return;
        for (const Member& member : std::span(m_members).first(m_memberCount)) {
            for (std::size_t i = 0; i < member.pairCount; ++i) {
                const std::size_t token = m_scratch.pairTokens[member.firstPair + i];
                std::copy_n(m_input.x + token * m_input.stride, m_width,
                    m_scratch.inputs.data() + (member.firstRow + i) * m_width);
            }
        }
    }

    // Once for the layer: the codebooks of all its experts are the same.
    void buildInputTables()
    {
        if (m_hasInputTables)
            return;
        m_hasInputTables = true;
        build(2, m_width / kernels::kTableColumns, [&](std::uint32_t i, std::size_t begin, std::size_t end) {
            const Matrix matrix = i == 0 ? kGate : kUp;
            m_compute.kernels.buildTables(vqMatrix(m_members[0], matrix), m_input.x, inputTables(matrix), begin, end);
        });
    }

    void buildHiddenTables() const
    {
        build(m_memberCount, m_config.expertWidth / kernels::kTableColumns,
            [&](std::uint32_t i, std::size_t begin, std::size_t end) {
                const Member& member = m_members[i];
                m_compute.kernels.buildTables(
                    vqMatrix(member, kDown), gate(member.firstRow), hiddenTables(member), begin, end);
            });
    }

    // Calls body(i, begin, end) for ranges of the positions of `count` tables, in parallel.
    template<typename Body>
    void build(std::uint32_t count, std::size_t positions, const Body& body) const
    {
        const auto blocks = static_cast<std::uint32_t>(ceilDivide(positions, std::size_t{kPositionsPerItem}));
        m_compute.pool.parallelFor(count * blocks, 1, [&](std::uint32_t begin, std::uint32_t end, std::uint32_t) {
            for (std::uint32_t item = begin; item < end; ++item) {
                const std::size_t first = item % blocks * std::size_t{kPositionsPerItem};
                body(item / blocks, first, std::min(first + kPositionsPerItem, positions));
            }
        });
    }

    // ---- products of some rows, by one worker

    void multiplyInput(
        Matrix matrix, const Member& member, std::uint32_t begin, std::uint32_t end, std::uint32_t worker) const
    {
        float* const y = matrix == kGate ? gate(member.firstRow) : up(member.firstRow);
        const std::size_t stride = m_config.expertWidth;
        if (m_usesTables) {
            m_compute.kernels.multiplyTables(vqMatrix(member, matrix), inputTables(matrix), y, begin, end);
        } else {
            const float* const x =
                m_routing.tokens == 1 ? m_input.x : m_scratch.inputs.data() + member.firstRow * m_width;
            multiplyExactly(member, matrix, {x, m_width, member.pairCount}, {y, stride}, begin, end, worker);
        }
    }

    void multiplyHidden(const Member& member, std::uint32_t begin, std::uint32_t end, std::uint32_t worker) const
    {
        float* const y = output(member.firstPair);
        if (m_usesTables) {
            m_compute.kernels.multiplyTables(vqMatrix(member, kDown), hiddenTables(member), y, begin, end);
        } else {
            const kernels::TokenInput hidden = {gate(member.firstRow), m_config.expertWidth, member.pairCount};
            multiplyExactly(member, kDown, hidden, {y, m_width}, begin, end, worker);
        }
    }

    void multiplyExactly(const Member& member, Matrix matrix, const kernels::TokenInput& input,
        const kernels::TokenOutput& output, std::uint32_t begin, std::uint32_t end, std::uint32_t worker) const
    {
        std::visit(
            [&](const auto& matrices) {
                multiply(m_compute.kernels, matrices[matrix], input, output, begin, end, m_compute.tile(worker));
            },
            member.arrival.pin.view());
    }

    // ---- places

    [[nodiscard]] float* gate(std::size_t row) const { return m_scratch.gate.data() + row * m_config.expertWidth; }
    [[nodiscard]] float* up(std::size_t row) const { return m_scratch.up.data() + row * m_config.expertWidth; }
    [[nodiscard]] float* output(std::size_t pair) const { return m_scratch.outputs.data() + pair * m_width; }

    static const kernels::VqMatrixView& vqMatrix(const Member& member, Matrix matrix)
    {
        return std::get<VqExpert>(member.arrival.pin.view())[matrix];
    }

    [[nodiscard]] TableInput inputTables(Matrix matrix) const
    {
        const std::size_t positions = m_width / kernels::kTableColumns;
        return {m_scratch.inputEntries.data() + matrix * positions * kernels::kTableBytes,
            m_scratch.inputScales.data() + matrix * RoutedScratch::blocksOf(positions), positions};
    }

    [[nodiscard]] TableInput hiddenTables(const Member& member) const
    {
        const std::size_t positions = m_config.expertWidth / kernels::kTableColumns;
        const auto index = static_cast<std::size_t>(&member - m_members.data());
        return {m_scratch.hiddenEntries.data() + index * positions * kernels::kTableBytes,
            m_scratch.hiddenScales.data() + index * RoutedScratch::blocksOf(positions), positions};
    }

    const Compute& m_compute;
    const ModelConfig& m_config;
    const Routing& m_routing;
    const kernels::TokenInput m_input;
    const RoutedScratch& m_scratch;
    const std::size_t m_width; // of an expert's input and output
    const std::uint32_t m_pairsMax;
    const std::uint32_t m_membersMax = std::min(m_config.expertsPerToken, kBatchExpertsMax); // pins a source allows
    std::array<Member, kBatchExpertsMax> m_members;
    std::uint32_t m_memberCount = 0;
    std::uint32_t m_rowCount = 0;
    bool m_usesTables = false; // by the batch at hand
    bool m_hasInputTables = false;
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
