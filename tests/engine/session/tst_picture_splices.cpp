// Several pictures in one prompt, cut at any place: whatever the chunks are, the logits are those of one token at a
// time, which has no chunks to cut. Rows are the golden ones, weights the exact ones of the built-in model.

#include "session_fixture.h"

#include "support/golden.h"
#include "waste/chat_format.h"
#include "waste/tokenizer.h"

using namespace waste;
using namespace waste::test;

namespace {

constexpr double kTolerance = 1e-5;

struct PicturePrompt {
    std::vector<TokenId> ids;
    std::vector<float> rows;
};

// The pictures of a request, by the names of their golden files.
PicturePrompt promptOf(const std::string& request)
{
    const std::map<std::string, ImageSize> sizes = {
        {"red_circle", {112, 112}}, {"star", {61, 45}}, {"two_shapes", {140, 84}}};
    const auto model = openModel("k3-mini");
    const std::size_t rowFloats = model->info().hiddenSize;
    auto tokenizer = Tokenizer::open(modelPath("k3-mini"), model->info().endOfTextId);
    const auto format = ChatFormat::open(modelPath("k3-mini"), *tokenizer);
    PicturePrompt prompt;
    std::vector<std::uint32_t> counts;
    RenderOptions options;
    options.thinking = false;
    options.image = [&](const ImageReference& reference) -> Result<ImageSize> {
        const auto rows =
            readFloats(std::filesystem::path(WASTE_TEST_DATA) / "k3-mini" / (reference.value + ".embed.f32"));
        prompt.rows.insert(prompt.rows.end(), rows.begin(), rows.end());
        counts.push_back(static_cast<std::uint32_t>(rows.size() / rowFloats));
        return sizes.at(reference.value);
    };
    const auto rendered = (*format)->render(request, options);
    if (!rendered)
        qFatal("%s", rendered.error().message.c_str());
    prompt.ids = encodeSegments(**tokenizer, rendered->segments, counts).value();
    return prompt;
}

std::vector<float> logitsOf(const PicturePrompt& prompt, std::uint32_t chunkTokens)
{
    const auto engine = openEngine(openModel("k3-mini"), {.chunkTokens = chunkTokens});
    const auto session = openSession(*engine);
    AppendOptions options;
    options.pictureRows = prompt.rows;
    const Status status = session->append(prompt.ids, options);
    return status ? copyLogits(*session) : std::vector<float>();
}

const char* const kTwoTurns = R"({"messages": [
    {"role": "user", "content": [{"type": "image", "image": {"path": "red_circle"}},
        {"type": "text", "text": "What shape do you see?"}]},
    {"role": "assistant", "content": "I see a circle."},
    {"role": "user", "content": [{"type": "image", "image": {"path": "star"}},
        {"type": "text", "text": "What shape do you see?"}]}]})";

const char* const kSideBySide = R"({"messages": [
    {"role": "user", "content": [{"type": "image", "image": {"path": "star"}},
        {"type": "image", "image": {"path": "red_circle"}}, {"type": "image", "image": {"path": "two_shapes"}},
        {"type": "text", "text": "Describe the picture."}]}]})";

const char* const kToolResult = R"({"tools": [{"type": "function", "function": {"name": "look",
        "parameters": {"type": "object", "properties": {}}}}], "messages": [
    {"role": "user", "content": "What is in front of the camera?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "image", "image": {"path": "star"}}]}]})";

} // namespace

class TestPictureSplices : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyChunkSizeGivesTheLogitsOfSingleSteps_data()
    {
        QTest::addColumn<QByteArray>("request");
        QTest::addColumn<bool>("endsWithPicture");
        QTest::newRow("two turns") << QByteArray(kTwoTurns) << false;
        QTest::newRow("three side by side") << QByteArray(kSideBySide) << false;
        QTest::newRow("in a tool result") << QByteArray(kToolResult) << false;
        QTest::newRow("the last token is one of a picture") << QByteArray(kTwoTurns) << true;
    }
    void everyChunkSizeGivesTheLogitsOfSingleSteps()
    {
        QFETCH(const QByteArray, request);
        QFETCH(const bool, endsWithPicture);
        PicturePrompt prompt = promptOf(request.toStdString());
        const TokenId place = openModel("k3-mini")->info().mediaPlaceholderId;
        QVERIFY(std::count(prompt.ids.begin(), prompt.ids.end(), place) > 5);
        if (endsWithPicture)
            prompt.ids.erase(std::find(prompt.ids.rbegin(), prompt.ids.rend(), place).base(), prompt.ids.end());
        const std::vector<float> steps = logitsOf(prompt, 1);
        QVERIFY(!steps.empty());
        // Among them one that ends exactly before, and one exactly behind, the first place of a picture.
        const auto first =
            static_cast<std::uint32_t>(std::find(prompt.ids.begin(), prompt.ids.end(), place) - prompt.ids.begin());
        for (const std::uint32_t chunk : {2U, 3U, 5U, 16U, 64U, first, first + 1}) {
            const double error = relativeError(logitsOf(prompt, chunk), steps);
            QVERIFY2(error < kTolerance, qPrintable(QString("chunks of %1: %2").arg(chunk).arg(error)));
        }
    }

    // Were rows taken from the wrong picture, this would not be seen above.
    void theOrderOfPicturesMatters()
    {
        PicturePrompt prompt = promptOf(kTwoTurns);
        const std::vector<float> right = logitsOf(prompt, 64);
        std::rotate(prompt.rows.begin(), prompt.rows.begin() + 256, prompt.rows.end());
        QVERIFY(relativeError(logitsOf(prompt, 64), right) > 0.01);
    }
};

QTEST_GUILESS_MAIN(TestPictureSplices)
#include "tst_picture_splices.moc"
