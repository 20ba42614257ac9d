// verify: damage is found, told with its place and turned into the exit code.

#include "waste_program.h"

#include "support/damage.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

namespace {

// A container of its own for each test, with every checksum present.
class Container {
public:
    Container() { m_isThere = waste::test::copyGolden("kl-vq4p-mixed", m_folder.path().toStdString()); }
    // A copy of one that our converter made, with checksums of everything.
    explicit Container(const QString& original)
        : m_isThere(true)
    {
        for (const QFileInfo& file : QDir(original).entryInfoList(QDir::Files))
            m_isThere = m_isThere && QFile::copy(file.filePath(), m_folder.filePath(file.fileName()));
    }
    [[nodiscard]] bool isThere() const { return m_isThere; }
    [[nodiscard]] QString path() const { return m_folder.path(); }

    [[nodiscard]] bool flip(const QString& file, qint64 offset) const
    {
        QFile content(m_folder.filePath(file));
        char byte = 0;
        return content.open(QIODevice::ReadWrite) && content.seek(offset) && content.getChar(&byte)
            && content.seek(offset) && content.putChar(static_cast<char>(byte ^ 1));
    }

private:
    QTemporaryDir m_folder;
    bool m_isThere = false;
};

QList<QJsonObject> eventsNamed(const WasteProgram::Outcome& outcome, const QString& name)
{
    QList<QJsonObject> events;
    for (const QJsonObject& event : outcome.jsonLines())
        if (event["event"] == name)
            events << event;
    return events;
}

constexpr qint64 kFirstPayloadByte = 48; // behind the header of expert 0

} // namespace

class TestWasteVerify : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aWholeModelHasNoDamage()
    {
        const Container container;
        QVERIFY(container.isThere());
        const auto outcome = runWaste({"verify", container.path(), "--json"});
        COMPARE_EXIT(outcome, 0);
        const QJsonObject done = outcome.json();
        QCOMPARE(done["event"].toString(), u"done"_s);
        QVERIFY(done["records"].toInt() > 0);
        QVERIFY(done["bytes"].toInteger() > 0);
        QCOMPARE(done["damaged"].toInt(-1), 0);
        QVERIFY(done["seconds"].isDouble());
        QVERIFY(eventsNamed(outcome, "damage").isEmpty());
    }

    void damageIsToldWithItsPlace()
    {
        const Container container;
        QVERIFY(container.isThere());
        QVERIFY(container.flip("experts-L1.bin", kFirstPayloadByte));
        const auto outcome = runWaste({"verify", container.path(), "--json"});
        COMPARE_EXIT(outcome, 4);
        const auto damages = eventsNamed(outcome, "damage");
        QCOMPARE(damages.size(), 1);
        QCOMPARE(damages[0]["file"].toString(), u"experts-L1.bin"_s);
        QCOMPARE(damages[0]["layer"].toInt(), 1);
        QCOMPARE(damages[0]["expert"].toInt(-1), 0);
        QCOMPARE(damages[0]["offset"].toInt(-1), 0);
        QVERIFY(!damages[0]["reason"].toString().isEmpty());
        QCOMPARE(outcome.json()["event"].toString(), u"done"_s);
        QCOMPARE(outcome.json()["damaged"].toInt(), 1);

        const auto text = runWaste({"verify", container.path(), "-q"});
        COMPARE_EXIT(text, 4);
        QVERIFY2(text.output.startsWith("damaged: experts-L1.bin at offset 0: expert 0 of layer 1: "),
            text.output.constData());
        QVERIFY(text.output.contains("1 damaged"));
    }

    void damageBesideTheExpertsIsToldByNameAndOffset()
    {
        const Container container(WASTE_K3_MINI_CONTAINER);
        QVERIFY(container.isThere());
        QVERIFY(container.flip("trunk.bin", 5'000'000));
        QVERIFY(container.flip("tokenizer.model", 5'000));
        const auto found = eventsNamed(runWaste({"verify", container.path(), "--json"}), "damage");
        QCOMPARE(found.size(), 2);
        QCOMPARE(found[0]["file"].toString(), u"trunk.bin"_s);
        const auto text = runWaste({"verify", container.path(), "-q"});
        COMPARE_EXIT(text, 4);
        const QByteArrayList lines = text.output.split('\n');
        const QString tensor = QString("damaged: trunk.bin at offset %1: tensor %2: checksum mismatch. ")
                                   .arg(found[0]["offset"].toInteger())
                                   .arg(found[0]["tensor"].toString());
        QVERIFY2(QString::fromUtf8(lines[0]).startsWith(tensor), lines[0].constData());
        QVERIFY2(lines[1].startsWith("damaged: tokenizer.model is not what "), lines[1].constData());
    }

    void headersAloneFindNoDamagedPayload()
    {
        const Container container;
        QVERIFY(container.isThere());
        QVERIFY(container.flip("experts-L1.bin", kFirstPayloadByte));
        COMPARE_EXIT(runWaste({"verify", container.path(), "--fast"}), 0);
        QVERIFY(container.flip("experts-L1.bin", 6)); // the id in the header
        COMPARE_EXIT(runWaste({"verify", container.path(), "--fast"}), 4);
    }

    void oneLayerCanBeVerified()
    {
        const Container container;
        QVERIFY(container.isThere());
        QVERIFY(container.flip("experts-L1.bin", kFirstPayloadByte));
        COMPARE_EXIT(runWaste({"verify", container.path(), "--layer", "1"}), 4);
        COMPARE_EXIT(runWaste({"verify", container.path(), "--layer", "2"}), 0);
        COMPARE_EXIT(runWaste({"verify", container.path(), "--layer", "0"}), 2); // dense
    }

    void checksumsOfAllFilesAreWrittenAndChecked()
    {
        const Container container;
        QVERIFY(container.isThere());
        const auto before = runWaste({"verify", container.path(), "--json"});
        QCOMPARE(before.json()["integrity"].toBool(true), false);
        COMPARE_EXIT(runWaste({"verify", container.path(), "--write-integrity", "-q"}), 0);
        const auto after = runWaste({"verify", container.path(), "--json"});
        COMPARE_EXIT(after, 0);
        QCOMPARE(after.json()["integrity"].toBool(false), true);
        QVERIFY(container.flip("experts-L2.bin", 20479)); // padding, which nothing else covers
        COMPARE_EXIT(runWaste({"verify", container.path()}), 4);
        COMPARE_EXIT(runWaste({"verify", container.path(), "--layer", "1", "--write-integrity"}), 2);
    }

    void errorsAgainstTheSourceAreTold()
    {
        const auto json =
            runWaste({"verify", WASTE_K3_MINI_CONTAINER, "--against", WASTE_K3_MINI_CHECKPOINT, "--json"});
        COMPARE_EXIT(json, 0);
        const QJsonObject done = json.json();
        QVERIFY(done["expert_error"].toDouble() > 0.05 && done["expert_error"].toDouble() < 0.25);
        QVERIFY(done["trunk_error"].toDouble() > 0.02 && done["trunk_error"].toDouble() < 0.15);
        QVERIFY(done["by_layer"].toObject()["2"].toObject().contains("gate"));
        const auto text = runWaste({"verify", WASTE_K3_MINI_CONTAINER, "--against", WASTE_K3_MINI_CHECKPOINT});
        COMPARE_EXIT(text, 0);
        QVERIFY2(text.output.contains("matrices compared with their source"), text.output.constData());
        COMPARE_EXIT(runWaste({"verify", WASTE_K3_MINI_CONTAINER, "--against", "/nonexistent"}), 6);
        COMPARE_EXIT(runWaste({"verify", WASTE_K3_MINI_CONTAINER, "--against", WASTE_TEST_DATA "/kl-mini"}), 2);
    }

    void whatHasNoChecksumsIsRefused()
    {
        const auto checkpoint = runWaste({"verify", WASTE_K3_MINI_CHECKPOINT, "--json"});
        COMPARE_EXIT(checkpoint, 5);
        QCOMPARE(checkpoint.json()["code"].toString(), u"unsupported"_s);
        COMPARE_EXIT(runWaste({"verify", "/nonexistent"}), 6);
        COMPARE_EXIT(runWaste({"verify"}), 2);
    }
};

QTEST_GUILESS_MAIN(TestWasteVerify)
#include "tst_waste_verify.moc"
