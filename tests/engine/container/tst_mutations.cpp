// Random damage of every kind to small containers: whatever the bytes are, opening, reading and verifying
// end with a result or with an error that says something, and never crash or hang. WASTE_MUTATIONS sets the
// number of tries; the seed of a try is its number.

#include "container/bank_reader.h"
#include "container/codebooks.h"
#include "container/container_files.h"
#include "container/dequantize.h"
#include "container/verifier.h"
#include "platform/pages.h"
#include "support/damage.h"
#include "support/trunk_tensor.h"

#include <nlohmann/json.hpp>

#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <random>

using namespace waste;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr int kDefaultMutations = 1000;
constexpr std::uint32_t kRowMutations = 500;

std::string readFile(const fs::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    std::string content(fs::file_size(path), '\0');
    stream.read(content.data(), static_cast<std::streamsize>(content.size()));
    return content;
}

void writeFile(const fs::path& path, const std::string& content)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

class Mutator {
public:
    explicit Mutator(std::uint32_t seed)
        : m_random(seed)
    {
    }

    std::size_t below(std::size_t count) { return count == 0 ? 0 : m_random() % count; }

    std::string mutateBytes(std::string content)
    {
        switch (below(6)) {
        case 0:
            content.resize(below(content.size() + 1));
            break;
        case 1:
            content.append(below(5000), static_cast<char>(m_random()));
            break;
        case 2: { // one part over another
            const std::size_t length = below(std::min<std::size_t>(content.size(), 5000));
            content.replace(
                below(content.size() - length), length, content.substr(below(content.size() - length), length));
            break;
        }
        default:
            for (std::size_t count = 1 + below(8); count > 0; --count)
                content[below(content.size())] = static_cast<char>(m_random());
        }
        return content;
    }

    // Bits in the first bytes of a record: where a number can do most.
    std::string mutateHeader(std::string content)
    {
        const std::size_t page = below(content.size() / 4096) * 4096;
        content[page + below(48)] = static_cast<char>(m_random());
        return content;
    }

    std::string mutateJson(const std::string& content)
    {
        Json root = Json::parse(content);
        for (std::size_t count = 1 + below(3); count > 0; --count)
            mutateMember(root);
        return root.dump(-1, ' ', false, Json::error_handler_t::replace);
    }

private:
    // Walks to a random place and puts something else there.
    void mutateMember(Json& root)
    {
        Json* place = &root;
        Json* parent = nullptr;
        while (place->is_structured() && !place->empty() && (parent == nullptr || below(8) != 0)) {
            parent = place;
            auto child = place->begin();
            std::advance(child, static_cast<std::ptrdiff_t>(below(place->size())));
            place = &*child;
        }
        if (parent != nullptr && below(6) == 0) {
            auto child = parent->begin();
            std::advance(child, static_cast<std::ptrdiff_t>(below(parent->size())));
            parent->erase(child);
        } else {
            *place = interesting(*place);
        }
    }

    Json interesting(const Json& old)
    {
        if (old.is_number_integer() && below(2) == 0)
            return old.get<std::int64_t>() + static_cast<std::int64_t>(below(5)) - 2;
        switch (below(14)) {
        case 0:
            return 0;
        case 1:
            return -1;
        case 2:
            return 1;
        case 3:
            return 255;
        case 4:
            return 1 << 20;
        case 5:
            return 0x7fffffff;
        case 6:
            return 0x100000000;
        case 7:
            return 0x8000000000000000U;
        case 8:
            return 1e308;
        case 9:
            return 0.5;
        case 10:
            return nullptr;
        case 11:
            return std::string(below(200), 'x');
        case 12:
            return Json::array({old, old});
        default:
            return Json::object({{"x", old}});
        }
    }

    std::mt19937 m_random;
};

// Uses everything that opening allows, as an engine would. Returns the first error.
Status useEverything(const fs::path& directory)
{
    WASTE_TRY(const ContainerFiles files, ContainerFiles::open(directory));
    const Manifest& manifest = files.manifest;
    std::vector<std::string> warnings;
    WASTE_TRY(const Codebooks codebooks, Codebooks::load(directory, manifest, Verification::Headers, warnings));
    for (const TrunkEntry& entry : manifest.trunk) {
        if (!entry.format)
            continue;
        WASTE_TRY(const auto tensor, test::TrunkTensor::load(directory, entry, Verification::Headers));
        std::vector<float> row(tensor.matrix.columns);
        dequantizeRow(tensor.matrix, tensor.matrix.rows - 1, row);
    }
    Status first;
    for (std::size_t bank = 0; bank < manifest.banks.size(); ++bank) {
        WASTE_TRY(const BankReader reader, BankReader::open(directory, manifest, bank, codebooks, false));
        WASTE_TRY(const Pages pages, Pages::allocate(reader.strideBytes(), "test"));
        const auto record = pages.bytes().first(reader.strideBytes());
        for (std::uint32_t expert = 0; expert < manifest.banks[bank].expertCount; ++expert) {
            const auto status = reader.readRecord(static_cast<std::uint16_t>(expert), record, Verification::Headers);
            if (!status) {
                first = status;
                continue;
            }
            if (expert % 4 != 0)
                continue;
            for (const auto& view : reader.view(record)) {
                std::vector<float> values(std::size_t{view.rows} * view.columns);
                dequantize(view, values);
            }
        }
    }
    const CancelFlag cancel;
    WASTE_TRY_STATUS(verifyContainer(
        files, {},
        [&first](const Damage& damage) {
            if (first)
                first = damage.error;
        },
        {}, cancel));
    return first;
}

} // namespace

class TestMutations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void damagedContainersEndInAResultOrAnError_data();
    void damagedContainersEndInAResultOrAnError();
    void undamagedContainersAreStillRight();

private:
    Status tryMutation(std::uint32_t seed) const;

    const QTemporaryDir m_directory;
    fs::path m_root;
};

void TestMutations::initTestCase()
{
    m_root = m_directory.path().toStdString();
    for (const char* name : test::kGoldenContainers)
        QVERIFY(test::copyGolden(name, m_root / name));
}

void TestMutations::damagedContainersEndInAResultOrAnError_data()
{
    QTest::addColumn<std::uint32_t>("first");
    QTest::addColumn<std::uint32_t>("count");
    const int asked = qEnvironmentVariableIntValue("WASTE_MUTATIONS");
    const auto total = static_cast<std::uint32_t>(asked > 0 ? asked : kDefaultMutations);
    // In rows, because Qt limits the time of each.
    for (std::uint32_t first = 0; first < total; first += kRowMutations)
        QTest::addRow("seeds from %u on", first) << first << std::min(kRowMutations, total - first);
}

void TestMutations::damagedContainersEndInAResultOrAnError()
{
    QFETCH(std::uint32_t, first);
    QFETCH(std::uint32_t, count);
    std::uint32_t refused = 0;
    for (std::uint32_t seed = first; seed < first + count; ++seed) {
        const Status status = tryMutation(seed);
        if (status)
            continue;
        ++refused;
        const Error& error = status.error();
        const bool isExpected =
            error.code == ErrorCode::Corrupt || error.code == ErrorCode::Unsupported || error.code == ErrorCode::Io;
        QVERIFY2(isExpected && !error.message.empty(),
            qPrintable(QString("seed %1: %2").arg(seed).arg(QString::fromStdString(error.message))));
    }
    // The damage must reach the checks: most of it is seen, and some of it harms nothing.
    if (count == kRowMutations)
        QVERIFY2(refused > count / 2 && refused < count, qPrintable(QString::number(refused)));
}

void TestMutations::undamagedContainersAreStillRight()
{
    for (const char* name : test::kGoldenContainers)
        QVERIFY(useEverything(m_root / name));
}

// Damages one file of one container, uses the container, and repairs it.
Status TestMutations::tryMutation(std::uint32_t seed) const
{
    constexpr const char* kWeightFiles[] = {"codebooks.bin", "trunk.bin", "experts-L1.bin", "experts-L3.bin"};
    Mutator mutator(seed);
    const fs::path container = m_root / test::kGoldenContainers[mutator.below(std::size(test::kGoldenContainers))];
    // Half of all damage goes to the manifest: it decides what every other byte means.
    const bool isManifest = mutator.below(2) == 0;
    const fs::path file =
        container / (isManifest ? "manifest.json" : kWeightFiles[mutator.below(std::size(kWeightFiles))]);
    const std::string original = readFile(file);
    std::string damaged;
    if (mutator.below(4) == 0)
        damaged = isManifest ? mutator.mutateBytes(original) : mutator.mutateHeader(original);
    else
        damaged = isManifest ? mutator.mutateJson(original) : mutator.mutateBytes(original);
    writeFile(file, damaged);
    Status status = useEverything(container);
    writeFile(file, original);
    return status;
}

QTEST_APPLESS_MAIN(TestMutations)
#include "tst_mutations.moc"
