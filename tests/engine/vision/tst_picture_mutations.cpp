// Random damage to pictures of every format: decoding ends with a whole picture or with an error that names the
// file and a reason, never crashes or hangs, and takes no more memory than the plan counts. WASTE_MUTATIONS sets
// the number of tries; the seed of a try is its number.

#include "picture_seeds.h"
#include "support/process_memory.h"
#include "vision/image_file.h"

#include <QTest>

#include <array>
#include <random>

using namespace waste;
using namespace waste::test;

namespace {

constexpr int kDefaultMutations = 1400;

std::span<const std::byte> bytesOf(const std::string& file)
{
    return std::as_bytes(std::span(file));
}

// Values at which sizes and offsets go wrong.
constexpr std::array<std::uint8_t, 8> kEdges = {0, 1, 0x7F, 0x80, 0xFE, 0xFF, 0x20, 0x40};

class Mutator {
public:
    explicit Mutator(std::uint32_t seed)
        : m_random(seed)
    {
    }

    std::string damage(std::string file, const std::string& other)
    {
        for (std::size_t times = 1 + below(4); times > 0; --times)
            damageOnce(file, other);
        return file;
    }

private:
    std::size_t below(std::size_t count) { return count == 0 ? 0 : m_random() % count; }
    char anyByte() { return static_cast<char>(m_random() & 0xFF); }

    // Headers decide sizes, so half of the damage goes there.
    std::size_t place(const std::string& file)
    {
        constexpr std::size_t kHeaderBytes = 64;
        return below(below(2) == 0 ? std::min(kHeaderBytes, file.size()) : file.size());
    }

    void damageOnce(std::string& file, const std::string& other)
    {
        if (file.empty())
            return;
        const std::size_t at = place(file);
        const std::size_t length = below(std::min<std::size_t>(64, file.size() - at)) + 1;
        switch (below(8)) {
        case 0:
            file.resize(at);
            break;
        case 1:
            file[at] = static_cast<char>(file[at] ^ (1 << below(8)));
            break;
        case 2:
            file[at] = static_cast<char>(kEdges[below(kEdges.size())]);
            break;
        case 3:
            std::generate_n(file.begin() + static_cast<std::ptrdiff_t>(at), length, [this] { return anyByte(); });
            break;
        case 4:
            file.insert(at, std::string(length, anyByte()));
            break;
        case 5:
            file.erase(at, length);
            break;
        case 6: // a part twice
            file.insert(at, file.substr(place(file), length));
            break;
        default: // a part of another format
            file.replace(at, length, other.substr(below(other.size()), length));
            break;
        }
    }

    std::mt19937 m_random;
};

// Empty if a result is a whole picture or a good error.
std::string judge(const Result<Image>& image)
{
    if (image) {
        const std::size_t expected = std::size_t{image->width} * image->height * image->channels();
        return image->width > 0 && image->pixels.size() == expected ? "" : "a picture without all of its pixels";
    }
    const Error& error = image.error();
    const bool isTold = error.code == ErrorCode::Io && error.reason == "invalid_image"
        && error.message.starts_with("mutated.pic: ") && error.message.size() > 20;
    return isTold ? "" : "an error without file or reason: " + error.message;
}

} // namespace

class TestPictureMutations : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void undamagedPicturesOfEveryFormShowTheSame()
    {
        const auto seeds = pictureSeeds();
        for (const PictureSeed& seed : seeds) {
            const auto image = decodeImage(bytesOf(seed.file), seed.name);
            QVERIFY2(image, image ? "" : image.error().message.c_str());
            const bool turned = std::string(seed.name) == "JPEG with EXIF";
            QCOMPARE(image->width, turned ? 23U : 37U);
            QCOMPARE(image->height, turned ? 37U : 23U);
            if (std::string(seed.name) == "grey PNG")
                continue;
            // The middle of the star; turned clockwise, the left becomes the top.
            const std::size_t x = turned ? 11 : 15;
            const std::size_t y = turned ? 15 : 11;
            const std::uint8_t* pixel = image->pixels.data() + (y * image->width + x) * image->channels();
            QVERIFY2(pixel[0] > 160 && pixel[1] < 80 && pixel[2] < 90, seed.name);
        }
    }

    void damagedPicturesEndInAPictureOrInAReason()
    {
        const int asked = qEnvironmentVariableIntValue("WASTE_MUTATIONS");
        const int count = asked > 0 ? asked : kDefaultMutations;
        const auto seeds = pictureSeeds();
        const std::uint64_t before = test::processMemory().residentBytes;
        int whole = 0;
        for (int i = 0; i < count; ++i) {
            Mutator mutator(static_cast<std::uint32_t>(i));
            const std::size_t seed = static_cast<std::size_t>(i) % seeds.size();
            const std::string file =
                mutator.damage(seeds[seed].file, seeds[(seed + 1 + i / seeds.size()) % seeds.size()].file);
            const auto image = decodeImage(bytesOf(file), "mutated.pic");
            const std::string fault = judge(image);
            QVERIFY2(
                fault.empty(), qPrintable(QString("%1, try %2: %3").arg(seeds[seed].name).arg(i).arg(fault.c_str())));
            whole += image ? 1 : 0;
        }
        const std::uint64_t peak = test::processMemory().residentPeakBytes;
        qInfo("%d damaged pictures, %d of them still decoded; peak %.1f MiB above the start", count, whole,
            double(peak - before) / 1048576);
        QVERIFY(whole > 0 && whole < count);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
        if (peak > 0)
            QVERIFY(peak <= before + kImageBytesMax);
#endif
    }
};

QTEST_GUILESS_MAIN(TestPictureMutations)
#include "tst_picture_mutations.moc"
